//! Moves a run to its next phase, if its gate lets it.

use comity_domain::{Phase, RunId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Words;
use super::ended::end_all;
use super::event::{GateRefused, Moved, RunAdvanced};
use super::table::{self, Run};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::error::Error;
use crate::gate::GateVerdict;
use crate::gate::evaluate::{self, Way};
use crate::log::Event;
use crate::tx::{Read, WriteTx};

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
        if !way.is_open() {
            return Err(Stop::Refused(refuse(tx, &run, way)?));
        }
        let note = self.note.as_ref().map(ToString::to_string);
        let event = |moved| RunAdvanced { moved, note };
        Ok(take_the_way(tx, run, way, event)?)
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

/// Moves a run, ends what ends with it, and answers what the event says: nothing is read again.
pub(crate) fn take_the_way<E: Into<Event>>(
    tx: &mut WriteTx<'_, '_>,
    mut run: Run,
    way: Way,
    event: impl FnOnce(Moved) -> E,
) -> Result<AdvancedRun, Error> {
    let gate = GateVerdict::of(&run, &way);
    let completed = way.completes;
    let moved = moved(&run, way);
    run.moved(&moved, tx.now().at);
    run.revision += 1;
    tx.emit(event(moved))?;
    if completed {
        end_all(tx, &run, "its run is completed")?;
    }
    Ok(AdvancedRun { run, gate })
}

/// Returns what the event of a move says.
fn moved(run: &Run, way: Way) -> Moved {
    Moved {
        id: run.id,
        project: run.project_id,
        from: run.phase.clone(),
        to: way.to,
        position: i64::try_from(way.position).unwrap_or(i64::MAX),
        completed: way.completes,
        gate: way.checks,
    }
}
