//! Makes a token for an operator or an observer.

use comity_domain::token::to_hex;
use comity_domain::{AgentId, ProjectId, Role, TokenId, TokenSecret};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::TokenCreated;
use super::table::{self, Token};
use crate::actor::Party;
use crate::command::{Command, Issued, Secret, Stop};
use crate::error::Error;
use crate::project::table::{self as project_table, Label, ProjectRef};
use crate::tx::{Read, WriteTx};

/// Makes a token; agents get theirs by registering.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateToken {
    /// `operator` or `observer`.
    pub role: Role,
    /// The only project an observer sees.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// What people call it.
    #[serde(default)]
    pub name: Option<Label>,
}

/// The token made; its secret is told once and stored nowhere.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct MadeToken {
    /// Everything but the secret.
    pub token: Token,
    /// The secret; `None` in a replayed answer.
    #[serde(skip)]
    pub secret: Option<TokenSecret>,
}

impl Command for CreateToken {
    const NAME: &'static str = "create_token";
    const WHO: &'static [Party] = &[Party::Operator];
    type Answer = MadeToken;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<MadeToken, Stop> {
        let actor = tx.actor().clone();
        let project = match (self.role, &self.project) {
            (Role::Agent, _) => {
                let rule = "must be `operator` or `observer`; an agent's token comes from `register_agent` or `rotate_token`";
                return Err(Error::invalid("role", rule).into());
            }
            (Role::Operator, Some(_)) => {
                let rule = "must be left out: an operator's token is good for every project";
                return Err(Error::invalid("project", rule).into());
            }
            (_, None) => None,
            (_, named) => Some(project_table::resolve(tx, &actor, named.as_ref())?.id),
        };
        let name = self.name.as_ref().map(ToString::to_string);
        let owner = Owner {
            role: self.role,
            project,
            agent: None,
            name: name.unwrap_or_default(),
        };
        let id = table::next_id(tx)?;
        Ok(issue(tx, id, owner)?)
    }

    fn secret(answer: &MadeToken) -> Option<Secret> {
        Some(Secret::Token(Issued {
            secret: answer.secret.clone()?,
            agent: None,
        }))
    }
}

/// Whom a new token is for.
pub(crate) struct Owner {
    pub(crate) role: Role,
    pub(crate) project: Option<ProjectId>,
    pub(crate) agent: Option<AgentId>,
    pub(crate) name: String,
}

/// Makes the token with this number inside a command's transaction.
pub(crate) fn issue(
    tx: &mut WriteTx<'_, '_>,
    id: TokenId,
    owner: Owner,
) -> Result<MadeToken, Error> {
    let secret = TokenSecret::new(id, tx.random());
    let token = Token {
        id,
        role: owner.role,
        project_id: owner.project,
        agent_id: owner.agent,
        name: owner.name,
        created_at: tx.now().at,
        revoked_at: None,
        revision: 1,
    };
    tx.emit(TokenCreated {
        id,
        role: token.role,
        project: token.project_id,
        agent: token.agent_id,
        name: token.name.clone(),
        sha256: to_hex(secret.hash().bytes()),
    })?;
    Ok(MadeToken {
        token,
        secret: Some(secret),
    })
}
