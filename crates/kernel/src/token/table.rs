//! Tokens: reading rows.

use comity_domain::{AgentId, ProjectId, Role, Timestamp, TokenHash, TokenId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::epoch::next_id;
use crate::params;
use crate::store::{Row, StoreError};
use crate::tx::Read;

/// A token as the operator sees it: everything but the token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Token {
    /// Its number, the public half.
    pub id: TokenId,
    /// What its holder is.
    pub role: Role,
    /// The project it is bound to.
    pub project_id: Option<ProjectId>,
    /// The agent it belongs to.
    pub agent_id: Option<AgentId>,
    /// What people call it.
    pub name: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// How many events it has.
    pub revision: i64,
}

/// What authentication needs of a token that is not revoked.
pub(crate) struct Presented {
    pub(crate) role: Role,
    pub(crate) project: Option<ProjectId>,
    pub(crate) agent: Option<AgentId>,
    pub(crate) hash: TokenHash,
    pub(crate) orchestrate: bool,
}

/// Returns the token with this number.
pub fn by_id(read: &mut impl Read, id: TokenId) -> Result<Option<Token>, StoreError> {
    read.row(
        "select id, role, project_id, agent_id, name, created_at, revoked_at, revision
         from token where id = ?1",
        params![id],
        token,
    )
}

/// Returns a page of tokens in the order of their numbers.
pub fn page(read: &mut impl Read, after: i64, limit: i64) -> Result<Vec<Token>, StoreError> {
    read.rows(
        "select id, role, project_id, agent_id, name, created_at, revoked_at, revision
         from token where id > ?1 order by id limit cast(?2 as bigint)",
        params![after, limit],
        token,
    )
}

/// Returns the tokens of an agent that are not revoked.
pub fn living_of(read: &mut impl Read, agent: AgentId) -> Result<Vec<TokenId>, StoreError> {
    read.rows(
        "select id from token where agent_id = ?1 and revoked_at is null order by id",
        params![agent],
        Row::take,
    )
}

/// Returns what authentication needs, unless the token is revoked or unknown.
pub(crate) fn presented(
    read: &mut impl Read,
    id: TokenId,
) -> Result<Option<Presented>, StoreError> {
    read.row(
        "select t.role, t.project_id, t.agent_id, t.sha256, coalesce(a.orchestrate, 0)
         from token t left join agent a on a.id = t.agent_id
         where t.id = ?1 and t.revoked_at is null",
        params![id],
        |row| {
            Ok(Presented {
                role: role(row)?,
                project: row.take()?,
                agent: row.take()?,
                hash: TokenHash::new(row.take()?),
                orchestrate: row.take()?,
            })
        },
    )
}

/// Tells whether a token is good, and whether its agent holds the right `orchestrate`.
pub(crate) fn standing(read: &mut impl Read, id: TokenId) -> Result<Option<bool>, StoreError> {
    read.row(
        "select coalesce(a.orchestrate, 0) from token t left join agent a on a.id = t.agent_id
         where t.id = ?1 and t.revoked_at is null",
        params![id],
        Row::take,
    )
}

/// Returns the number for the next token.
pub fn next_id(read: &mut impl Read) -> Result<TokenId, StoreError> {
    read.one(next_id!("token"), &[], Row::take)
}

fn token(row: &mut Row) -> Result<Token, StoreError> {
    Ok(Token {
        id: row.take()?,
        role: role(row)?,
        project_id: row.take()?,
        agent_id: row.take()?,
        name: row.take()?,
        created_at: row.take()?,
        revoked_at: row.take()?,
        revision: row.take()?,
    })
}

fn role(row: &mut Row) -> Result<Role, StoreError> {
    Role::from_word(&row.take::<String>()?).ok_or(StoreError::Shape("a role"))
}
