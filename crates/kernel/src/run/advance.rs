//! Moves a run to its next phase, if its gate lets it.

use comity_domain::{Phase, RunId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ended::after_the_move;
use super::event::{GateRefused, Moved, RunAdvanced};
use super::table::{self, Run};
use super::{Words, changed};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::error::Error;
use crate::gate::GateVerdict;
use crate::gate::evaluate::{self, Way};
use crate::tx::WriteTx;

/// Moves a run to its next phase, if its gate lets it.
///
/// Refused with `gate_refused`, which lists every check; the refusal is part of the run's history.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdvanceRun {
    /// The run's number.
    pub run: RunId,
    /// The phase you think it is in; another one now is refused with `stale_phase`.
    #[serde(default)]
    pub expected_phase: Option<Phase>,
    /// What you have to say about it.
    #[serde(default)]
    pub note: Option<Words>,
}

/// The run as it is now, and what let it pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AdvancedRun {
    /// The run.
    pub run: Run,
    /// What its gate said.
    pub gate: GateVerdict,
}

impl Command for AdvanceRun {
    const NAME: &'static str = "advance_run";
    const WHO: &'static [Party] = &[Party::Orchestrator, Party::Operator];
    type Answer = AdvancedRun;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<AdvancedRun, Stop> {
        let actor = tx.actor().clone();
        let run = table::visible(tx, &actor, self.run)?;
        if let Some(expected) = &self.expected_phase {
            run.must_be_in(expected)?;
        }
        run.must_be_active()?;
        let way = evaluate::way(tx, &run)?;
        tx.hit("advance.after_gate")?;
        let gate = GateVerdict::of(&run, &way);
        if !way.is_open() {
            return Err(Stop::Refused(refuse(tx, &run, way)?));
        }
        tx.emit(RunAdvanced {
            moved: moved(&run, &way),
            note: self.note.as_ref().map(ToString::to_string),
        })?;
        after_the_move(tx, &run, &way)?;
        let run = changed(tx, run.id)?;
        Ok(AdvancedRun { run, gate })
    }
}

/// Writes the refusal down: one event and nothing else (G4).
fn refuse(tx: &mut WriteTx<'_, '_>, run: &Run, way: Way) -> Result<Error, Error> {
    tx.emit(GateRefused {
        id: run.id,
        project: run.project_id,
        from: run.phase.clone(),
        to: way.to.clone(),
        gate: way.checks.clone(),
    })?;
    Ok(Error::GateRefused {
        from: run.phase.to_string(),
        to: way.to.to_string(),
        checks: way.checks,
    })
}

/// Returns what the event of a move says.
pub(crate) fn moved(run: &Run, way: &Way) -> Moved {
    Moved {
        id: run.id,
        project: run.project_id,
        from: run.phase.clone(),
        to: way.to.clone(),
        position: i64::try_from(way.position).unwrap_or(i64::MAX),
        completed: way.completes,
        gate: way.checks.clone(),
    }
}
