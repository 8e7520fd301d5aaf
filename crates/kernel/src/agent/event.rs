//! What happens to agents.

use std::collections::BTreeSet;

use comity_domain::{AgentId, AgentName, ContactPolicy, ProjectId, Right};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What an agent says of itself, and what it was given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Profile {
    /// The program it runs in.
    pub program: String,
    /// The model that drives it.
    pub model: String,
    /// What it is here for.
    pub task: String,
    /// What it can do.
    pub capabilities: BTreeSet<String>,
    /// Whatever else its owner wants to keep.
    pub metadata: Map<String, Value>,
    /// What it may do beyond its own things.
    pub rights: BTreeSet<Right>,
    /// Who may write to it.
    #[serde(default = "open")]
    pub contact_policy: ContactPolicy,
}

/// What agents had before there was a choice.
const fn open() -> ContactPolicy {
    ContactPolicy::Open
}

/// An agent was registered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentRegistered {
    /// Its number.
    pub id: AgentId,
    /// Its project.
    pub project: ProjectId,
    /// Its name.
    pub name: AgentName,
    /// What it says of itself.
    pub profile: Profile,
}

/// An agent's profile changed, by itself, by resuming, or by the operator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentUpdated {
    /// The agent.
    pub id: AgentId,
    /// Its project.
    pub project: ProjectId,
    /// All of its profile, as it is now.
    pub profile: Profile,
}

/// An agent was retired; its history stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRetired {
    /// The agent.
    pub id: AgentId,
    /// Its project.
    pub project: ProjectId,
    /// Why, if somebody said so.
    pub reason: Option<String>,
}
