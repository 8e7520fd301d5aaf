//! Lets the next advance jump a phase.

use comity_domain::{Phase, RunId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::PhaseSkipped;
use super::{ChangedRun, Words, changed, table};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::error::Error;
use crate::tx::WriteTx;

/// Lets the run jump a phase that lies ahead. The gates of every step that is jumped still count.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkipPhase {
    /// The run's number.
    pub run: RunId,
    /// The phase.
    pub phase: Phase,
    /// Why.
    pub reason: Words,
}

impl Command for SkipPhase {
    const NAME: &'static str = "skip_phase";
    const WHO: &'static [Party] = &[Party::Orchestrator, Party::Operator];
    type Answer = ChangedRun;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<ChangedRun, Stop> {
        let actor = tx.actor().clone();
        let run = table::visible(tx, &actor, self.run)?;
        run.must_be_live()?;
        let Some(at) = run.phases.position(&self.phase) else {
            let rule = format!("is no phase of run {}", run.id);
            return Err(Error::invalid("phase", rule).into());
        };
        if at == run.phases.last() {
            return Err(Error::invalid("phase", "is the last one, which completes the run").into());
        }
        if at <= run.place() {
            let rule = format!("must lie ahead; the run is in `{}`", run.phase);
            return Err(Error::invalid("phase", rule).into());
        }
        if table::skipped(tx, run.id)?.contains(&self.phase) {
            return Ok(ChangedRun { run });
        }
        tx.emit(PhaseSkipped {
            id: run.id,
            project: run.project_id,
            phase: self.phase.clone(),
            reason: self.reason.to_string(),
        })?;
        Ok(ChangedRun {
            run: changed(tx, run.id)?,
        })
    }
}
