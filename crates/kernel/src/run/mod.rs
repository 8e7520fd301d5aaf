//! Runs: work that moves through phases on evidence.

pub mod advance;
pub mod agents;
mod apply;
pub mod approve;
pub mod artifact;
pub mod cancel;
pub mod create;
pub mod current;
pub(crate) mod ended;
pub mod event;
pub mod fail;
pub mod list;
pub(crate) mod past;
pub mod pause;
pub mod resume;
pub mod roll_back;
pub mod skip;
pub mod status;
pub mod table;
pub mod tell;
pub mod timeline;
pub mod update;
pub mod verdict;
pub mod withdraw;

pub use advance::AdvanceRun;
pub use agents::{AddRunAgent, FinishRunAgent, ListRunAgents};
pub use approve::{Approve, ListApprovals};
pub use artifact::{AddArtifact, ListArtifacts};
pub use cancel::CancelRun;
pub use create::CreateRun;
pub use current::CurrentRun;
pub use fail::FailRun;
pub use list::ListRuns;
pub use pause::PauseRun;
pub use resume::ResumeRun;
pub use roll_back::RollBackRun;
pub use skip::SkipPhase;
pub use status::{GetRunStatus, RunAt};
pub use table::{AgentKind, Run};
pub use timeline::RunTimeline;
pub use update::UpdateRun;
pub use verdict::{ListVerdicts, RecordVerdict};
pub use withdraw::WithdrawArtifact;

use comity_domain::limits::{GOAL_BYTES_MAX, LEASES_PER_RUN_MAX};
use comity_domain::{ProjectId, RunId, Text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Impossible};
use crate::tx::Read;

/// A goal, a reason, a note or a summary.
pub type Words = Text<GOAL_BYTES_MAX>;

/// The run as it is now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedRun {
    /// The run.
    pub run: Run,
}

/// Reads a run back after it was changed.
pub(crate) fn changed(read: &mut impl Read, id: RunId) -> Result<Run, Error> {
    table::by_id(read, id)?
        .ok_or_else(|| Error::internal(Impossible("a run vanished as it was changed")))
}

/// Finds the run that something is to belong to: one of the same project that has not ended.
pub(crate) fn belonging(
    read: &mut impl Read,
    project: ProjectId,
    id: Option<RunId>,
) -> Result<Option<Run>, Error> {
    let Some(id) = id else {
        return Ok(None);
    };
    let run = table::by_id(read, id)?.filter(|run| run.project_id == project);
    let run = run.ok_or_else(|| Error::invalid("run", format!("there is no run {id}")))?;
    run.must_be_live()?;
    Ok(Some(run))
}

/// Finds the run that leases are to belong to, and refuses more than can end with it at once.
pub(crate) fn belonging_leases(
    read: &mut impl Read,
    project: ProjectId,
    id: Option<RunId>,
    more: usize,
) -> Result<Option<RunId>, Error> {
    let Some(run) = belonging(read, project, id)? else {
        return Ok(None);
    };
    let more = i64::try_from(more).unwrap_or(i64::MAX);
    let held = crate::reservation::table::count_of_run(read, run.id)?;
    if held.saturating_add(more) > LEASES_PER_RUN_MAX {
        return Err(Error::LimitExceeded {
            what: "the number of leases of one run",
            limit: LEASES_PER_RUN_MAX.unsigned_abs(),
        });
    }
    Ok(Some(run.id))
}
