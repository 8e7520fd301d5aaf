//! What happens to leases.

use comity_domain::{
    AgentId, LeaseMode, LeaseTime, MessageId, Pattern, ProjectId, ReleaseRequestId, ReservationId,
    RunId, Seq,
};
use serde::{Deserialize, Serialize};

/// One lease of a grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Granted {
    /// Its number.
    pub id: ReservationId,
    /// What it covers.
    pub pattern: Pattern,
    /// The same as it is compared with others.
    pub key: String,
}

/// An agent was granted leases on files, all at once. The event's number is their fence (F14).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilesReserved {
    /// The project.
    pub project: ProjectId,
    /// The holder.
    pub agent: AgentId,
    /// The leases; never empty.
    pub reservations: Vec<Granted>,
    /// Who else may hold the same.
    pub mode: LeaseMode,
    /// Why.
    pub reason: String,
    /// The run they end with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// When, on the lease clock.
    pub granted: LeaseTime,
    /// Until when, on the lease clock.
    pub expires: LeaseTime,
}

/// Somebody was granted a named lock. The event's number is its fence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockAcquired {
    /// Its number.
    pub id: ReservationId,
    /// The project.
    pub project: ProjectId,
    /// The holder; nobody is the operator.
    pub agent: Option<AgentId>,
    /// The name.
    pub name: String,
    /// Why.
    pub reason: String,
    /// The run it ends with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// When, on the lease clock.
    pub granted: LeaseTime,
    /// Until when, on the lease clock.
    pub expires: LeaseTime,
}

/// A holder keeps a lease longer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseRenewed {
    /// The lease.
    pub id: ReservationId,
    /// The project.
    pub project: ProjectId,
    /// When, on the lease clock.
    pub renewed: LeaseTime,
    /// Until when now, on the lease clock.
    pub expires: LeaseTime,
}

/// What every end of a lease says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// The lease.
    pub id: ReservationId,
    /// The project.
    pub project: ProjectId,
    /// Who held it; nobody is the operator.
    pub agent: Option<AgentId>,
    /// What it covered.
    pub pattern: String,
    /// Its fence.
    pub fence: Seq,
    /// When this was written down, on the lease clock.
    pub ended: LeaseTime,
}

/// A holder gave a lease back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LeaseReleased(pub Ended);

/// Somebody took a lease from its holder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseForced {
    /// The lease.
    #[serde(flatten)]
    pub ended: Ended,
    /// Why.
    pub reason: String,
}

/// A lease ended because its holder was retired.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LeaseRetired(pub Ended);

/// A lease's time was up; it had ended before this was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LeaseExpired(pub Ended);

/// An agent asked a holder to release a lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReleaseRequested {
    /// Its number.
    pub id: ReleaseRequestId,
    /// The project.
    pub project: ProjectId,
    /// The lease.
    pub reservation: ReservationId,
    /// Who asks.
    pub requester: AgentId,
    /// The first message of their thread.
    pub thread: MessageId,
    /// Why.
    pub reason: String,
}

/// The holder answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReleaseAnswered {
    /// The request.
    pub id: ReleaseRequestId,
    /// The project.
    pub project: ProjectId,
    /// What the holder does.
    pub answer: super::request::Verdict,
    /// When the holder expects to be done.
    pub eta_ms: Option<i64>,
}
