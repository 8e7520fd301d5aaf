//! Lets a run rest.

use comity_domain::{RunId, RunState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::{RunPaused, Steered};
use super::{ChangedRun, Words, changed, table};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::tx::WriteTx;

/// Lets a run rest: nothing of it is handed out and it does not move, until it is resumed. What is
/// in hand goes on.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseRun {
    /// The run's number.
    pub run: RunId,
    /// Why.
    #[serde(default)]
    pub reason: Option<Words>,
}

impl Command for PauseRun {
    const NAME: &'static str = "pause_run";
    const WHO: &'static [Party] = &[Party::Orchestrator, Party::Operator];
    type Answer = ChangedRun;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<ChangedRun, Stop> {
        let actor = tx.actor().clone();
        let run = table::visible(tx, &actor, self.run)?;
        run.must_be_live()?;
        if run.state == RunState::Paused {
            return Ok(ChangedRun { run });
        }
        tx.emit(RunPaused(Steered::new(&run, self.reason.as_deref())))?;
        Ok(ChangedRun {
            run: changed(tx, run.id)?,
        })
    }
}
