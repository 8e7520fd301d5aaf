//! Gives an agent a new token and revokes the old ones.

use comity_domain::{Role, Slug, TokenSecret};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::retire::{own_or_operators, revoke_tokens};
use super::table::AgentRef;
use crate::actor::Party;
use crate::command::{Command, Issued, Secret, Stop};
use crate::project::ProjectRef;
use crate::token::Token;
use crate::token::create::{Owner, issue};
use crate::token::table::next_id;
use crate::tx::WriteTx;

/// Makes a new token for an agent; the old ones are good no more.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RotateToken {
    /// The agent's name or number.
    pub agent: AgentRef,
    /// The project's key or slug, where the agent is given by name.
    #[serde(default)]
    pub project: Option<ProjectRef>,
}

/// The new token; its secret is told once and stored nowhere.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RotatedToken {
    /// Everything but the secret.
    pub token: Token,
    /// The project's slug.
    pub project: Slug,
    /// The agent's name.
    pub agent: String,
    /// The secret; `None` in a replayed answer.
    #[serde(skip)]
    pub secret: Option<TokenSecret>,
}

impl Command for RotateToken {
    const NAME: &'static str = "rotate_token";
    const WHO: &'static [Party] = &[Party::Operator, Party::Itself];
    type Answer = RotatedToken;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<RotatedToken, Stop> {
        let agent = own_or_operators(tx, self.project.as_ref(), &self.agent)?;
        revoke_tokens(tx, agent.id, agent.project_id)?;
        let owner = Owner {
            role: Role::Agent,
            project: Some(agent.project_id),
            agent: Some(agent.id),
            name: agent.name.clone(),
        };
        let id = next_id(tx)?;
        let made = issue(tx, id, owner)?;
        Ok(RotatedToken {
            token: made.token,
            agent: agent.name,
            project: agent.project,
            secret: made.secret,
        })
    }

    fn secret(answer: &RotatedToken) -> Option<Secret> {
        Some(Secret::Token(Issued {
            secret: answer.secret.clone()?,
            agent: Some((answer.project.clone(), answer.agent.clone())),
        }))
    }
}
