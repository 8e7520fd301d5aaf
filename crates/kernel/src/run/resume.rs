//! Lets a run that rests go on.

use comity_domain::{RunId, RunState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::{RunResumed, Steered};
use super::{ChangedRun, Words, changed, table};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::tx::WriteTx;

/// Lets a run that rests go on.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResumeRun {
    /// The run's number.
    pub run: RunId,
    /// Why.
    #[serde(default)]
    pub reason: Option<Words>,
}

impl Command for ResumeRun {
    const NAME: &'static str = "resume_run";
    const WHO: &'static [Party] = &[Party::Orchestrator, Party::Operator];
    type Answer = ChangedRun;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<ChangedRun, Stop> {
        let actor = tx.actor().clone();
        let run = table::visible(tx, &actor, self.run)?;
        run.must_be_live()?;
        if run.state == RunState::Active {
            return Ok(ChangedRun { run });
        }
        tx.emit(RunResumed(Steered::new(&run, self.reason.as_deref())))?;
        Ok(ChangedRun {
            run: changed(tx, run.id)?,
        })
    }
}
