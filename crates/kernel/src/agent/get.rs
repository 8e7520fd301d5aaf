//! Shows one agent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::table::{self, AgentRef, AgentSeen};
use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::project::ProjectRef;
use crate::project::table as project_table;
use crate::query::Query;
use crate::tx::Snapshot;

/// Asks for one agent, retired ones included.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetAgent {
    /// The agent's name or number.
    pub agent: AgentRef,
    /// The project's key or slug, where the agent is given by name.
    #[serde(default)]
    pub project: Option<ProjectRef>,
}

/// One agent.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ShownAgent {
    /// The agent.
    pub agent: AgentSeen,
}

impl Query for GetAgent {
    const NAME: &'static str = "get_agent";
    const WHO: &'static [Party] = &[Party::Operator, Party::Agent, Party::Observer];
    type Answer = ShownAgent;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<ShownAgent, Error> {
        let project = match &self.project {
            Some(_) => Some(project_table::resolve(snapshot, actor, self.project.as_ref())?.id),
            None => None,
        };
        let id = table::resolve(snapshot, actor, project, &self.agent)?.id;
        let agent = table::seen_by_id(snapshot, id)?
            .ok_or_else(|| Error::not_found("agent", &self.agent))?;
        Ok(ShownAgent { agent })
    }
}
