//! The part of the scenario that is a checkpoint, as a log has it that was brought back whole.

use comity_domain::Seq;
use comity_domain::token::to_hex;
use comity_kernel::checkpoint::event::LogPruned;
use comity_kernel::checkpoint::table::schema;
use comity_kernel::log::state_hash::state_hash;
use comity_kernel::log::table::at;
use comity_kernel::tx::{Read as _, WriteTx};
use comity_kernel::{Command, Error, Party, Stop};
use serde::Serialize;

use crate::Kit;

/// Writes a checkpoint at the end of the log, and removes nothing.
#[derive(Serialize)]
struct Pass;

impl Command for Pass {
    const NAME: &'static str = "prune";
    const WHO: &'static [Party] = &[Party::Operator];
    type Answer = ();

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<(), Stop> {
        let through: Seq = tx.head();
        let last = at(tx, through)?;
        let last = last.ok_or_else(|| Error::not_found("event", &through))?;
        let (state_hash, schema) = (state_hash(tx)?, schema(tx)?);
        tx.emit(LogPruned {
            through,
            hash: to_hex(&last.hash),
            state_hash,
            schema,
        })?;
        Ok(())
    }
}

/// Leaves a checkpoint.
pub(super) fn checkpoint(kit: &Kit) {
    kit.run(Pass).expect("a checkpoint");
}
