//! What happens to contacts.

use comity_domain::{AgentId, ContactId, LeaseTime, ProjectId, Timestamp};
use serde::{Deserialize, Serialize};

/// An agent asked whether it may write to another, for the first time or again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContactRequested {
    /// Its number.
    pub id: ContactId,
    /// The project of the one who asks.
    pub project: ProjectId,
    /// Who is asked.
    pub agent: AgentId,
    /// Who asks.
    pub sender: AgentId,
    /// Why.
    pub reason: String,
}

/// The one who was asked answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContactAnswered {
    /// The contact.
    pub id: ContactId,
    /// The project of the one who was asked.
    pub project: ProjectId,
    /// Who was asked.
    pub agent: AgentId,
    /// Who asked.
    pub sender: AgentId,
    /// Whether the sender may write.
    pub approved: bool,
    /// Until when, on the wall clock.
    pub until: Option<Timestamp>,
    /// Until when, on the lease clock, which decides.
    pub until_lease: Option<LeaseTime>,
}
