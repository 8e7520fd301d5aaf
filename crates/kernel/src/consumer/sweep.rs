//! Writes down which consumers are gone.

use comity_domain::limits::CONSUMERS_ENDED_MAX;
use serde::{Deserialize, Serialize};

use super::event::ConsumerExpired;
use super::table;
use crate::actor::{Actor, Party};
use crate::command::{Command, Stop};
use crate::error::Error;
use crate::query::Query;
use crate::tx::{Read as _, Snapshot, WriteTx};

/// Asks whether there is anything to write down.
pub(crate) struct SilentConsumers;

impl Query for SilentConsumers {
    const NAME: &'static str = "silent_consumers";
    const WHO: &'static [Party] = &[];
    type Answer = bool;

    fn run(&self, _: &Actor, snapshot: &mut Snapshot<'_>) -> Result<bool, Error> {
        let now = snapshot.now().lease;
        Ok(!table::silent(snapshot, now, 1)?.is_empty())
    }
}

/// Ends the consumers that were silent for longer than they may be.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SweepConsumers;

/// What was written.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct SweptConsumers {
    /// Whether there may be more.
    pub(crate) more: bool,
}

impl Command for SweepConsumers {
    const NAME: &'static str = "sweep_consumers";
    const WHO: &'static [Party] = &[];
    type Answer = SweptConsumers;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<SweptConsumers, Stop> {
        let now = tx.now().lease;
        let silent = table::silent(tx, now, CONSUMERS_ENDED_MAX)?;
        let more = i64::try_from(silent.len()).unwrap_or(i64::MAX) >= CONSUMERS_ENDED_MAX;
        for consumer in silent {
            tx.emit(ConsumerExpired {
                id: consumer.id,
                project: consumer.project,
                name: consumer.name,
            })?;
        }
        Ok(SweptConsumers { more })
    }
}
