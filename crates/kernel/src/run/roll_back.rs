//! Takes a run back to an earlier phase.

use comity_domain::{ApprovalId, ArtifactId, DispatchId, Phase, RunId, RunState, VerdictId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ended::cancel_open;
use super::event::RunRolledBack;
use super::table::{self, Run, stored_phase};
use super::{Words, changed};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::error::Error;
use crate::params;
use crate::store::{FromValue, Row, StoreError};
use crate::tx::{Read, WriteTx};

/// Takes a run back to an earlier phase, at once: what the undone phases left behind is withdrawn,
/// as are judgements on the phase it returns to and on those after it; its open dispatches are
/// cancelled, and phases ahead are no longer skipped. A completed or failed run is open again, unless
/// what it is a part of has ended.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RollBackRun {
    /// The run's number.
    pub run: RunId,
    /// The phase to go back to.
    pub to_phase: Phase,
    /// Why.
    pub reason: Words,
    /// The phase you think it is in; another one now is refused with `stale_phase`.
    #[serde(default)]
    pub expected_phase: Option<Phase>,
}

/// The run, and exactly what was undone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RolledBackRun {
    /// The run as it is now.
    pub run: Run,
    /// Artifacts that count no more.
    pub withdrawn_artifacts: Vec<ArtifactId>,
    /// Verdicts that count no more.
    pub withdrawn_verdicts: Vec<VerdictId>,
    /// Approvals that count no more.
    pub withdrawn_approvals: Vec<ApprovalId>,
    /// The dispatches that were cancelled.
    pub cancelled_dispatches: Vec<DispatchId>,
}

impl Command for RollBackRun {
    const NAME: &'static str = "roll_back_run";
    const WHO: &'static [Party] = &[Party::Orchestrator, Party::Operator];
    type Answer = RolledBackRun;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<RolledBackRun, Stop> {
        let actor = tx.actor().clone();
        let run = table::visible(tx, &actor, self.run)?;
        if let Some(expected) = &self.expected_phase {
            run.must_be_in(expected)?;
        }
        if run.state == RunState::Cancelled {
            run.must_be_live()?;
        }
        if !run.state.is_live() {
            // What it is a part of may have ended because it did.
            for above in table::ancestors(tx, &run)? {
                above.must_be_live()?;
            }
        }
        let to = self.target(&run)?;
        let undone = |phase: &Phase| run.phases.position(phase).is_some_and(|at| at > to);
        let redone = |phase: &Phase| run.phases.position(phase).is_some_and(|at| at >= to);
        let back = RunRolledBack {
            id: run.id,
            project: run.project_id,
            from: run.phase.clone(),
            to: self.to_phase.clone(),
            position: i64::try_from(to).unwrap_or(0),
            reason: self.reason.to_string(),
            artifacts: standing(tx, ARTIFACTS, &run, undone)?,
            verdicts: standing(tx, VERDICTS, &run, redone)?,
            approvals: standing(tx, APPROVALS, &run, redone)?,
            skips: table::skipped(tx, run.id)?
                .into_iter()
                .filter(undone)
                .collect(),
        };
        let (artifacts, verdicts) = (back.artifacts.clone(), back.verdicts.clone());
        let approvals = back.approvals.clone();
        let dispatches = cancel_open(tx, &run, "its run was rolled back")?;
        tx.emit(back)?;
        Ok(RolledBackRun {
            run: changed(tx, run.id)?,
            withdrawn_artifacts: artifacts,
            withdrawn_verdicts: verdicts,
            withdrawn_approvals: approvals,
            cancelled_dispatches: dispatches,
        })
    }
}

impl RollBackRun {
    fn target(&self, run: &Run) -> Result<usize, Error> {
        let at = run.phases.position(&self.to_phase);
        let at =
            at.ok_or_else(|| Error::invalid("to_phase", format!("is no phase of run {}", run.id)))?;
        if at < run.place() || (at == run.place() && run.state == RunState::Failed) {
            return Ok(at);
        }
        let rule = format!("must lie behind; the run is in `{}`", run.phase);
        Err(Error::invalid("to_phase", rule))
    }
}

const ARTIFACTS: &str =
    "select id, phase from artifact where run_id = ?1 and withdrawn_at is null order by id";
const VERDICTS: &str =
    "select id, phase from verdict where run_id = ?1 and withdrawn_at is null order by id";
const APPROVALS: &str =
    "select id, phase from approval where run_id = ?1 and withdrawn_at is null order by id";

/// Returns the evidence that stands, of some phases.
fn standing<T: FromValue>(
    read: &mut impl Read,
    sql: &'static str,
    run: &Run,
    of: impl Fn(&Phase) -> bool,
) -> Result<Vec<T>, StoreError> {
    let rows = read.rows(sql, params![run.id], |row: &mut Row| {
        Ok((row.take()?, stored_phase(row.take()?)?))
    })?;
    let kept = rows.into_iter().filter(|(_, phase)| of(phase));
    Ok(kept.map(|(id, _)| id).collect())
}
