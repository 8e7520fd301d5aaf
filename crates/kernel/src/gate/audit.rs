//! Looks at every gate of a log again, on the state just before a run met it (G1).

use comity_domain::{Rule, Seq};

use super::Examined;
use super::evaluate;
use crate::error::Error;
use crate::log::{Event, Recorded};
use crate::memory::Memory;
use crate::run::event::{GateRefused, RunAdvanced};
use crate::run::table;
use crate::store::WriteEngine;
use crate::store::sqlite::SqliteWriter;
use crate::tx::{Snapshot, Tip};

/// Cuts a piece of the log before every event that says what a gate decided.
pub(crate) fn parts(page: &[Recorded]) -> impl Iterator<Item = &[Recorded]> {
    let mut rest = page;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let cut = rest.iter().skip(1).position(is_decision);
        let (part, after) = rest.split_at(cut.map_or(rest.len(), |cut| cut + 1));
        rest = after;
        Some(part)
    })
}

fn is_decision(recorded: &Recorded) -> bool {
    matches!(recorded.kind.as_str(), "run_advanced" | "gate_refused")
}

/// Examines the gate that the first event of a part speaks of, on tables that hold everything
/// before it; returns how many gates were right so far.
pub(crate) fn before(
    tables: &mut SqliteWriter,
    part: &[Recorded],
    so_far: Result<i64, Error>,
) -> Result<Result<i64, Error>, Error> {
    let (Ok(right), Some(first)) = (&so_far, part.first().filter(|first| is_decision(first)))
    else {
        return Ok(so_far);
    };
    let payload = first.payload.as_deref().unwrap_or_default();
    let (id, to, passed, gate) = match Event::read(&first.kind, first.v, payload) {
        Some(Ok(Event::RunAdvanced(RunAdvanced { moved, .. }))) => {
            (moved.id, moved.to, true, moved.gate)
        }
        Some(Ok(Event::GateRefused(GateRefused { id, to, gate, .. }))) => (id, to, false, gate),
        _ => return Ok(so_far),
    };
    let head = tables.begin()?;
    let memory = Memory::default();
    let tip = Tip {
        seq: head.seq,
        hash: head.hash,
    };
    let mut snapshot = Snapshot::unserved(&mut *tables, &memory, tip);
    let found = table::by_id(&mut snapshot, id)
        .map_err(Error::from)
        .and_then(|run| {
            run.map(|run| evaluate::way(&mut snapshot, &run))
                .transpose()
        });
    tables.rollback();
    let wrong = |seq: Seq, why: &str| Error::Damaged {
        what: format!("event {seq}: the gate of run {id} {why}"),
    };
    Ok(match found {
        Ok(Some(way)) if way.to != to => Err(wrong(first.seq, "leads to another phase")),
        Ok(Some(way)) if way.is_open() != passed => {
            let why = if passed {
                "did not let it pass"
            } else {
                "would have let it pass"
            };
            Err(wrong(first.seq, why))
        }
        Ok(Some(way)) if !outcomes(&way.checks).eq(outcomes(&gate)) => {
            Err(wrong(first.seq, "was found otherwise than the event says"))
        }
        Ok(Some(_)) => Ok(right + 1),
        Ok(None) | Err(_) => Err(wrong(first.seq, "cannot be examined")),
    })
}

/// Returns what was checked and whether it passed; the words may differ between versions.
fn outcomes(checks: &[Examined]) -> impl Iterator<Item = (&Rule, bool)> {
    checks.iter().map(|check| (&check.rule, check.passed))
}
