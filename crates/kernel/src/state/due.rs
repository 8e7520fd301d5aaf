//! Writes down that what was kept for a time has expired; it had ended without it.

use comity_domain::limits::SWEEP_MAX;
use serde::{Deserialize, Serialize};

use super::event::StateExpired;
use super::table::{self, Due, Of};
use crate::actor::{Actor, Party};
use crate::command::{Command, Stop};
use crate::error::Error;
use crate::query::Query;
use crate::tx::{Read, Snapshot, WriteTx};

/// Asks whether there is anything to write down.
pub(crate) struct DueState;

impl Query for DueState {
    const NAME: &'static str = "due_state";
    const WHO: &'static [Party] = &[];
    type Answer = bool;

    fn run(&self, _actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<bool, Error> {
        Ok(!table::due(snapshot, Of::All, 1)?.is_empty())
    }
}

/// Writes the end of state whose time is up.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SweepState;

/// What was written.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct SweptState {
    /// Whether there may be more.
    pub(crate) more: bool,
}

impl Command for SweepState {
    const NAME: &'static str = "sweep_state";
    const WHO: &'static [Party] = &[];
    type Answer = SweptState;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<SweptState, Stop> {
        let ended = write_down(tx, Of::All, SWEEP_MAX)?;
        Ok(SweptState {
            more: ended == SWEEP_MAX,
        })
    }
}

/// Writes down what is due, and counts it.
pub(super) fn write_down(tx: &mut WriteTx<'_, '_>, of: Of, limit: i64) -> Result<i64, Error> {
    let mut count = 0;
    for due in table::due(tx, of, limit)? {
        expire(tx, due)?;
        count += 1;
    }
    Ok(count)
}

/// Writes down that something has expired.
pub(super) fn expire(tx: &mut WriteTx<'_, '_>, due: Due) -> Result<(), Error> {
    tx.emit(StateExpired {
        id: due.scope,
        project: due.place.project,
        scope: due.place.name.to_string(),
        owner: due.place.owner,
        ended: due.ended,
        noticed: tx.now().lease,
    })?;
    Ok(())
}
