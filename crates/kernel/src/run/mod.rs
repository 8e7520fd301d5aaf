//! Runs: work that moves through phases on evidence.

pub mod advance;
mod apply;
pub(crate) mod ended;
pub mod event;
pub mod table;
pub mod verdict;

pub use advance::AdvanceRun;
pub use table::{AgentKind, Run};
pub use verdict::RecordVerdict;

use comity_domain::limits::GOAL_BYTES_MAX;
use comity_domain::{RunId, Text};

use crate::error::{Error, Impossible};
use crate::tx::Read;

/// A goal, a reason, a note or a summary.
pub type Words = Text<GOAL_BYTES_MAX>;

/// Reads a run back after it was changed.
pub(crate) fn changed(read: &mut impl Read, id: RunId) -> Result<Run, Error> {
    table::by_id(read, id)?
        .ok_or_else(|| Error::internal(Impossible("a run vanished as it was changed")))
}

/// Finds the run that something is to belong to: one of the same project that has not ended.
pub(crate) fn belonging(
    read: &mut impl Read,
    project: comity_domain::ProjectId,
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
