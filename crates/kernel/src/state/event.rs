//! What happens to state.

use comity_domain::{AgentId, LeaseTime, ProjectId, Sha256Hex, StateEntryId, StateScopeId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Somebody saved a value under a key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StateSaved {
    /// The scope's number.
    pub id: StateScopeId,
    /// The project.
    pub project: ProjectId,
    /// The scope.
    pub scope: String,
    /// Whose own the scope is; nobody's is shared.
    pub owner: Option<AgentId>,
    /// The number of what is kept.
    pub entry: StateEntryId,
    /// The key.
    pub key: String,
    /// The version: one more than the last one that this key ever had.
    pub version: i64,
    /// The value, or its hash.
    pub content: Content,
    /// How many bytes the value has as JSON.
    pub bytes: i64,
    /// Who saved it; nobody is the operator.
    pub by: Option<AgentId>,
    /// When, on the lease clock.
    pub saved: LeaseTime,
    /// Until when, on the lease clock; it may be for good.
    pub expires: Option<LeaseTime>,
}

/// What was saved: a small value itself, a large one by the hash of its JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// The value.
    Value(Value),
    /// The SHA-256 of its JSON, which is kept off the log.
    Sha256(Sha256Hex),
}

/// Somebody deleted what was kept under a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateDeleted {
    /// The scope's number.
    pub id: StateScopeId,
    /// The project.
    pub project: ProjectId,
    /// The scope.
    pub scope: String,
    /// Whose own the scope is; nobody's is shared.
    pub owner: Option<AgentId>,
    /// What ended.
    #[serde(flatten)]
    pub ended: Ended,
}

/// The time of what was kept under a key was up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateExpired {
    /// The scope's number.
    pub id: StateScopeId,
    /// The project.
    pub project: ProjectId,
    /// The scope.
    pub scope: String,
    /// Whose own the scope is; nobody's is shared.
    pub owner: Option<AgentId>,
    /// What ended.
    #[serde(flatten)]
    pub ended: Ended,
    /// When it was noticed, on the lease clock.
    pub noticed: LeaseTime,
}

/// Somebody ended everything that a scope held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateCleared {
    /// The scope's number.
    pub id: StateScopeId,
    /// The project.
    pub project: ProjectId,
    /// The scope.
    pub scope: String,
    /// Whose own the scope is; nobody's is shared.
    pub owner: Option<AgentId>,
    /// What ended, by key.
    pub keys: Vec<Ended>,
}

/// Something that is kept no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// Its number.
    pub entry: StateEntryId,
    /// Its key.
    pub key: String,
    /// Its last version.
    pub version: i64,
}
