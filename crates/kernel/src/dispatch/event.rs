//! What happens to dispatches.

use comity_domain::{
    AgentId, DispatchId, LeaseTime, Outcome, Phase, ProjectId, RunId, Sha256Hex, Verdict,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Work was handed out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DispatchCreated {
    /// Its number.
    pub id: DispatchId,
    /// The project.
    pub project: ProjectId,
    /// The run it is for.
    pub run: Option<RunId>,
    /// The phase that the run is in.
    pub phase: Option<Phase>,
    /// The kind of agent that is to do it.
    pub agent_kind: String,
    /// What is to be done.
    pub prompt: String,
    /// Before those of smaller priority.
    pub priority: i64,
    /// What its maker counts it with.
    pub group: Option<String>,
    /// The first attempts of the work that must be completed before.
    pub depends_on: Vec<DispatchId>,
    /// By when it must be settled, on the lease clock.
    pub deadline: Option<LeaseTime>,
    /// The first attempt at the same work.
    pub origin: DispatchId,
    /// The attempt that this one repeats.
    pub retry_of: Option<DispatchId>,
    /// Which attempt it is.
    pub attempt: i64,
    /// Not to be claimed before, on the lease clock.
    pub not_before: LeaseTime,
    /// Who made it; nobody is the operator.
    pub by: Option<AgentId>,
}

/// What every event of a dispatch says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Which {
    /// The dispatch.
    pub id: DispatchId,
    /// The project.
    pub project: ProjectId,
    /// The run it is for.
    pub run: Option<RunId>,
}

/// Somebody took it in hand. The event's number is the claim's fence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DispatchClaimed {
    /// The dispatch.
    #[serde(flatten)]
    pub which: Which,
    /// Who; nobody is the operator.
    pub claimant: Option<AgentId>,
    /// When, on the lease clock.
    pub claimed: LeaseTime,
    /// Until when, on the lease clock.
    pub expires: LeaseTime,
}

/// Its claimant began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DispatchStarted(pub Which);

/// Its claimant keeps it longer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DispatchExtended {
    /// The dispatch.
    #[serde(flatten)]
    pub which: Which,
    /// When, on the lease clock.
    pub extended: LeaseTime,
    /// Until when now, on the lease clock.
    pub expires: LeaseTime,
}

/// Its claimant said how far it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DispatchReported {
    /// The dispatch.
    #[serde(flatten)]
    pub which: Which,
    /// How many tokens it used so far.
    pub tokens: i64,
    /// How many of these are new.
    pub tokens_added: i64,
    /// How far it is, in the claimant's words.
    pub progress: String,
}

/// Its claimant was lost, and it may be claimed again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DispatchReturned {
    /// The dispatch.
    #[serde(flatten)]
    pub which: Which,
    /// Who had it; nobody is the operator.
    pub claimant: Option<AgentId>,
    /// When this was written down, on the lease clock.
    pub returned: LeaseTime,
    /// Why.
    pub reason: String,
}

/// Its claimant is done, or gave up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DispatchFinished {
    /// The dispatch.
    #[serde(flatten)]
    pub which: Which,
    /// How it went.
    pub outcome: Outcome,
    /// What its worker thinks of the work.
    pub verdict: Option<Verdict>,
    /// What its worker has to say.
    pub summary: String,
    /// What came of it.
    pub result: Option<Value>,
    /// The hash of the whole report: the same report again changes nothing (H4).
    pub result_sha256: Sha256Hex,
}

/// Somebody gave it up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DispatchCancelled {
    /// The dispatch.
    #[serde(flatten)]
    pub which: Which,
    /// Why.
    pub reason: String,
}

/// Its deadline passed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DispatchTimedOut {
    /// The dispatch.
    #[serde(flatten)]
    pub which: Which,
    /// When this was written down, on the lease clock.
    pub timed_out: LeaseTime,
}
