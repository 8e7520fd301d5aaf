//! What happens to sentinels.

use comity_domain::{AgentId, LeaseTime, ProjectId, SentinelId};
use serde::{Deserialize, Serialize};

/// Somebody claimed a sentinel, for the first time or again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentinelClaimed {
    /// Its number.
    pub id: SentinelId,
    /// The project.
    pub project: ProjectId,
    /// Its name.
    pub name: String,
    /// What of it; the same name may be claimed once per scope.
    pub scope: String,
    /// Who claimed it; nobody is the operator.
    pub agent: Option<AgentId>,
    /// When, on the lease clock.
    pub claimed: LeaseTime,
}

/// A sentinel may be claimed at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentinelReset {
    /// Its number.
    pub id: SentinelId,
    /// The project.
    pub project: ProjectId,
}
