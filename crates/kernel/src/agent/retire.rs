//! Retires an agent: its history and name stay, it takes part no more.

use comity_domain::limits::TASK_BYTES_MAX;
use comity_domain::{AgentId, ProjectId, Prose};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::AgentRetired;
use super::table::{self, Agent, AgentRef};
use crate::actor::{Actor, Party};
use crate::command::{Command, Stop};
use crate::dispatch::due::give_back_all;
use crate::error::{Error, Impossible};
use crate::project::ProjectRef;
use crate::project::table as project_table;
use crate::reservation::event::LeaseRetired;
use crate::reservation::table as leases;
use crate::token::event::TokenRevoked;
use crate::token::table as token_table;
use crate::tx::{Read, WriteTx};

/// Retires an agent, revokes its tokens, ends its leases and returns the work it has in hand.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RetireAgent {
    /// The agent's name or number.
    pub agent: AgentRef,
    /// The project's key or slug, where the agent is given by name.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// Why.
    #[serde(default)]
    pub reason: Option<Prose<TASK_BYTES_MAX>>,
}

/// The agent as it is now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RetiredAgent {
    /// The agent.
    pub agent: Agent,
}

impl Command for RetireAgent {
    const NAME: &'static str = "retire_agent";
    const WHO: &'static [Party] = &[Party::Operator, Party::Itself];
    type Answer = RetiredAgent;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<RetiredAgent, Stop> {
        let agent = own_or_operators(tx, self.project.as_ref(), &self.agent)?;
        tx.emit(AgentRetired {
            id: agent.id,
            project: agent.project_id,
            reason: self.reason.as_ref().map(ToString::to_string),
        })?;
        revoke_tokens(tx, agent.id, agent.project_id)?;
        end_leases(tx, agent.id)?;
        give_back_all(tx, agent.id, "its worker retired")?;
        let agent = table::by_id(tx, agent.id)?
            .ok_or_else(|| Error::internal(Impossible("an agent vanished as it was retired")))?;
        Ok(RetiredAgent { agent })
    }
}

/// Finds an agent that the caller may change: itself, or any as the operator; never a retired one.
pub(crate) fn own_or_operators(
    tx: &mut WriteTx<'_, '_>,
    project: Option<&ProjectRef>,
    named: &AgentRef,
) -> Result<Agent, Error> {
    let actor = tx.actor().clone();
    let project = match project {
        Some(_) => Some(project_table::resolve(tx, &actor, project)?.id),
        None => None,
    };
    let agent = table::resolve(tx, &actor, project, named)?;
    if let Actor::Agent { agent: own, .. } = actor
        && own != agent.id
    {
        return Err(Error::Forbidden {
            reason: format!("agent `{}` is not the caller", agent.name),
        });
    }
    match agent.retired_at {
        Some(_) => Err(Error::AgentRetired { name: agent.name }),
        None => Ok(agent),
    }
}

/// Ends everything an agent holds; that others have expired is for the sweep to write down.
fn end_leases(tx: &mut WriteTx<'_, '_>, agent: AgentId) -> Result<(), Error> {
    let now = tx.now();
    for lease in leases::held_by(tx, agent)? {
        if lease.is_active(now.lease) {
            tx.emit(LeaseRetired(lease.to_end(now)))?;
        }
    }
    Ok(())
}

/// Revokes every living token of an agent.
pub(crate) fn revoke_tokens(
    tx: &mut WriteTx<'_, '_>,
    agent: AgentId,
    project: ProjectId,
) -> Result<(), Error> {
    for id in token_table::living_of(tx, agent)? {
        tx.emit(TokenRevoked {
            id,
            project: Some(project),
        })?;
    }
    Ok(())
}
