//! Changes what an agent says of itself.

use std::collections::{BTreeMap, BTreeSet};

use comity_domain::limits::{LABEL_BYTES_MAX, TASK_BYTES_MAX};
use comity_domain::{ContactPolicy, Line, Prose, Right};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::register::{ProfileChanges, change_profile, labels};
use super::retire::own_or_operators;
use super::table::{Agent, AgentRef};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::project::ProjectRef;
use crate::project::update::check_revision;
use crate::tx::WriteTx;

/// Changes what is given and leaves the rest as it is.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateAgent {
    /// The agent's name or number.
    pub agent: AgentRef,
    /// The project's key or slug, where the agent is given by name.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// The program it runs in.
    #[serde(default)]
    pub program: Option<Line<LABEL_BYTES_MAX>>,
    /// The model that drives it.
    #[serde(default)]
    pub model: Option<Line<LABEL_BYTES_MAX>>,
    /// What it is here for.
    #[serde(default)]
    pub task: Option<Prose<TASK_BYTES_MAX>>,
    /// What it can do.
    #[serde(default)]
    pub capabilities: Option<BTreeSet<Line<LABEL_BYTES_MAX>>>,
    /// Whatever else its owner wants to keep; it replaces what was kept before.
    #[serde(default)]
    pub metadata: Option<BTreeMap<String, Value>>,
    /// What it may do beyond its own things; the operator's to give.
    #[serde(default)]
    pub rights: Option<BTreeSet<Right>>,
    /// Who may write to it: `open`, `contacts` or `closed`.
    #[serde(default)]
    pub contact_policy: Option<ContactPolicy>,
    /// The revision you read; another one now is refused.
    #[serde(default)]
    pub expected_revision: Option<i64>,
}

/// The agent as it is now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UpdatedAgent {
    /// The agent.
    pub agent: Agent,
}

impl Command for UpdateAgent {
    const NAME: &'static str = "update_agent";
    const WHO: &'static [Party] = &[Party::Operator, Party::Itself];
    type Answer = UpdatedAgent;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<UpdatedAgent, Stop> {
        let agent = own_or_operators(tx, self.project.as_ref(), &self.agent)?;
        check_revision(self.expected_revision, agent.revision)?;
        let changes = ProfileChanges {
            program: self.program.as_ref().map(ToString::to_string),
            model: self.model.as_ref().map(ToString::to_string),
            task: self.task.as_ref().map(ToString::to_string),
            capabilities: self.capabilities.as_ref().map(labels),
            metadata: self.metadata.clone().map(Map::from_iter),
            rights: self.rights.clone(),
            contact_policy: self.contact_policy,
        };
        let agent = change_profile(tx, agent, changes)?;
        Ok(UpdatedAgent { agent })
    }
}
