//! Gives a run up, with everything below it.

use comity_domain::{DispatchId, ReservationId, RunId, RunState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ended::end_all;
use super::event::{RunCancelled, Steered};
use super::table::{self, Run};
use super::{Words, changed};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::error::Error;
use crate::tx::WriteTx;

/// Gives a run up, with everything below it, their open dispatches and their leases, at once.
/// Repeating it changes nothing. Where something below it is in another project, it is for the
/// operator to do.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CancelRun {
    /// The run's number.
    pub run: RunId,
    /// Why.
    #[serde(default)]
    pub reason: Option<Words>,
}

/// The run, and exactly what was changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CancelledRun {
    /// The run as it is now.
    pub run: Run,
    /// The runs that were cancelled, this one included.
    pub cancelled_runs: Vec<RunId>,
    /// The dispatches that were cancelled.
    pub cancelled_dispatches: Vec<DispatchId>,
    /// The leases and locks that were ended.
    pub ended_leases: Vec<ReservationId>,
}

impl Command for CancelRun {
    const NAME: &'static str = "cancel_run";
    const WHO: &'static [Party] = &[Party::Orchestrator, Party::Operator];
    type Answer = CancelledRun;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<CancelledRun, Stop> {
        let actor = tx.actor().clone();
        let run = table::visible(tx, &actor, self.run)?;
        if run.state != RunState::Cancelled {
            run.must_be_live()?;
        }
        let (mut runs, mut dispatches, mut leases) = (Vec::new(), Vec::new(), Vec::new());
        for one in table::subtree(tx, run.id)? {
            if !one.state.is_live() {
                continue;
            }
            if actor.project().is_some_and(|own| own != one.project_id) {
                return Err(Error::Forbidden {
                    reason: format!("run {} below it is in another project", one.id),
                }
                .into());
            }
            tx.emit(RunCancelled(Steered::new(&one, self.reason.as_deref())))?;
            let mut ended = end_all(tx, &one, "its run was cancelled")?;
            runs.push(one.id);
            dispatches.append(&mut ended.dispatches);
            leases.append(&mut ended.leases);
        }
        Ok(CancelledRun {
            run: changed(tx, run.id)?,
            cancelled_runs: runs,
            cancelled_dispatches: dispatches,
            ended_leases: leases,
        })
    }
}
