//! Writes down that leases have expired; they had ended without it (F15).

use comity_domain::limits::SWEEP_MAX;
use serde::{Deserialize, Serialize};

use super::event::LeaseExpired;
use super::table;
use crate::actor::{Actor, Party};
use crate::command::{Command, Stop};
use crate::error::Error;
use crate::query::Query;
use crate::tx::{Read, Snapshot, WriteTx};

/// Asks whether there is anything to write down.
pub(crate) struct Due;

impl Query for Due {
    const NAME: &'static str = "due_leases";
    const WHO: &'static [Party] = &[];
    type Answer = bool;

    fn run(&self, _actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<bool, Error> {
        Ok(!table::due(snapshot, 1)?.is_empty())
    }
}

/// Writes the end of leases and locks whose time is up.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Sweep;

/// What was written.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Swept {
    /// Whether there may be more.
    pub(crate) more: bool,
}

impl Command for Sweep {
    const NAME: &'static str = "sweep_leases";
    const WHO: &'static [Party] = &[];
    type Answer = Swept;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<Swept, Stop> {
        let due = table::due(tx, SWEEP_MAX)?;
        for lease in &due {
            tx.emit(LeaseExpired(lease.to_end(tx.now())))?;
        }
        let more = i64::try_from(due.len()).unwrap_or(i64::MAX) == SWEEP_MAX;
        Ok(Swept { more })
    }
}
