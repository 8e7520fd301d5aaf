//! Says that a run came to nothing.

use comity_domain::{RunId, RunState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ended::end_all;
use super::event::{RunFailed, Steered};
use super::{ChangedRun, Words, changed, table};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::tx::WriteTx;

/// Says that a run came to nothing: its open dispatches are cancelled and its leases end. Its
/// children go on.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FailRun {
    /// The run's number.
    pub run: RunId,
    /// Why.
    #[serde(default)]
    pub reason: Option<Words>,
}

impl Command for FailRun {
    const NAME: &'static str = "fail_run";
    const WHO: &'static [Party] = &[Party::Orchestrator, Party::Operator];
    type Answer = ChangedRun;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<ChangedRun, Stop> {
        let actor = tx.actor().clone();
        let run = table::visible(tx, &actor, self.run)?;
        if run.state == RunState::Failed {
            return Ok(ChangedRun { run });
        }
        run.must_be_live()?;
        tx.emit(RunFailed(Steered::new(&run, self.reason.as_deref())))?;
        end_all(tx, &run, "its run failed")?;
        Ok(ChangedRun {
            run: changed(tx, run.id)?,
        })
    }
}
