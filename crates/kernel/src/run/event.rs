//! What happens to runs.

use std::collections::BTreeMap;

use comity_domain::{
    AgentId, ApprovalId, Approver, ArtifactId, Chain, DispatchId, Gates, Outcome, Phase, ProjectId,
    RunId, Sha256Hex, Verdict, VerdictId,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::table::Run;
use crate::gate::Examined;

/// A run began, in its first phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunCreated {
    /// Its number.
    pub id: RunId,
    /// The project.
    pub project: ProjectId,
    /// The run it is a part of.
    pub parent: Option<RunId>,
    /// What it is for.
    pub goal: String,
    /// Its phases.
    pub phases: Chain,
    /// The checks of each step.
    pub gates: Gates,
    /// How many tokens it and everything below it may use.
    pub token_budget: Option<i64>,
    /// Whether work is handed out no more once they are used.
    pub budget_enforced: bool,
    /// How many dispatches of it and everything below it may be in hand at a time.
    pub max_dispatches: Option<i64>,
    /// The same for kinds of agent.
    pub max_per_kind: BTreeMap<String, i64>,
    /// The caller's own data.
    pub metadata: Map<String, Value>,
    /// Who created it; nobody is the operator.
    pub by: Option<AgentId>,
}

/// A run moved on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// The run.
    pub id: RunId,
    /// The project.
    pub project: ProjectId,
    /// The phase that was left.
    pub from: Phase,
    /// The phase that was entered.
    pub to: Phase,
    /// Its place in the chain.
    pub position: i64,
    /// Whether that was the last one.
    pub completed: bool,
    /// What the gates of every step between the two were found to be.
    pub gate: Vec<Examined>,
}

/// A run moved on because its gate let it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunAdvanced {
    /// From where, to where, on what evidence.
    #[serde(flatten)]
    pub moved: Moved,
    /// What the caller had to say.
    pub note: Option<String>,
}

/// The operator moved a run on, whatever its gate said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateOverridden {
    /// From where, to where, against what evidence.
    #[serde(flatten)]
    pub moved: Moved,
    /// Why.
    pub reason: String,
}

/// A gate kept a run where it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateRefused {
    /// The run.
    pub id: RunId,
    /// The project.
    pub project: ProjectId,
    /// Where it is.
    pub from: Phase,
    /// Where it should have gone.
    pub to: Phase,
    /// What the gates of every step between the two were found to be.
    pub gate: Vec<Examined>,
}

/// The next advance jumps a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseSkipped {
    /// The run.
    pub id: RunId,
    /// The project.
    pub project: ProjectId,
    /// The phase.
    pub phase: Phase,
    /// Why.
    pub reason: String,
}

/// A run went back to an earlier phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRolledBack {
    /// The run.
    pub id: RunId,
    /// The project.
    pub project: ProjectId,
    /// The phase it was in.
    pub from: Phase,
    /// The phase it is in again.
    pub to: Phase,
    /// Its place in the chain.
    pub position: i64,
    /// Why.
    pub reason: String,
    /// Artifacts of the undone phases, which count no more.
    pub artifacts: Vec<ArtifactId>,
    /// Verdicts on the work that is done again.
    pub verdicts: Vec<VerdictId>,
    /// Approvals of the work that is done again.
    pub approvals: Vec<ApprovalId>,
    /// Phases that were to be skipped and now are not.
    pub skips: Vec<Phase>,
}

/// What every change of a run's state says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Steered {
    /// The run.
    pub id: RunId,
    /// The project.
    pub project: ProjectId,
    /// Why.
    pub reason: Option<String>,
}

impl Steered {
    /// Says why a run's state changes.
    pub(super) fn new(run: &Run, reason: Option<&str>) -> Self {
        Self {
            id: run.id,
            project: run.project_id,
            reason: reason.map(ToOwned::to_owned),
        }
    }
}

/// A run rests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunPaused(pub Steered);

/// A run goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunResumed(pub Steered);

/// Somebody gave a run up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunCancelled(pub Steered);

/// A run came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunFailed(pub Steered);

/// What can be changed of a run is now so.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunUpdated {
    /// The run.
    pub id: RunId,
    /// The project.
    pub project: ProjectId,
    /// What it is for.
    pub goal: String,
    /// How many tokens it and everything below it may use.
    pub token_budget: Option<i64>,
    /// How many dispatches of it and everything below it may be in hand at a time.
    pub max_dispatches: Option<i64>,
    /// The caller's own data.
    pub metadata: Map<String, Value>,
}

/// Somebody left something behind for a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactAdded {
    /// Its number.
    pub id: ArtifactId,
    /// The run.
    pub run: RunId,
    /// The project.
    pub project: ProjectId,
    /// The phase.
    pub phase: Phase,
    /// What kind of thing it is.
    pub kind: String,
    /// Where it lies in the project.
    pub path: Option<String>,
    /// Where it lies elsewhere.
    pub url: Option<String>,
    /// The hash of its bytes.
    pub sha256: Option<Sha256Hex>,
    /// Who; nobody is the operator.
    pub agent: Option<AgentId>,
}

/// An artifact counts no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactWithdrawn {
    /// The artifact.
    pub id: ArtifactId,
    /// The run.
    pub run: RunId,
    /// The project.
    pub project: ProjectId,
    /// Why.
    pub reason: Option<String>,
}

/// An agent takes part in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunAgentAdded {
    /// The run.
    pub run: RunId,
    /// The project.
    pub project: ProjectId,
    /// The agent.
    pub agent: AgentId,
    /// What it does there.
    pub role: String,
}

/// An agent has done its part of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunAgentFinished {
    /// The run.
    pub run: RunId,
    /// The project.
    pub project: ProjectId,
    /// The agent.
    pub agent: AgentId,
    /// How it went.
    pub outcome: Outcome,
}

/// Somebody judged the work of a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictRecorded {
    /// Its number.
    pub id: VerdictId,
    /// The run.
    pub run: RunId,
    /// The project.
    pub project: ProjectId,
    /// The phase.
    pub phase: Phase,
    /// The verdict.
    pub verdict: Verdict,
    /// Why.
    pub summary: String,
    /// Who; nobody is the operator.
    pub agent: Option<AgentId>,
    /// The dispatch whose worker said so.
    pub dispatch: Option<DispatchId>,
}

/// Somebody said that a phase may be left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseApproved {
    /// Its number.
    pub id: ApprovalId,
    /// The run.
    pub run: RunId,
    /// The project.
    pub project: ProjectId,
    /// The phase.
    pub phase: Phase,
    /// By what right.
    pub role: Approver,
    /// What they had to say.
    pub note: Option<String>,
    /// Who; nobody is the operator.
    pub agent: Option<AgentId>,
}

/// One run waits for another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunsLinked {
    /// The run that is waited for.
    pub upstream: RunId,
    /// The run that waits.
    pub downstream: RunId,
    /// The project of the run that waits.
    pub project: ProjectId,
}

/// One run waits for another no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunsUnlinked(pub RunsLinked);
