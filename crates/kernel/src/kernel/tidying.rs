//! What is written now and then, off the log.

use comity_domain::limits::IDEMPOTENCY_KEEP_US;

use crate::params;
use crate::presence::FlushPresence;
use crate::redaction::answers::tidy_words;
use crate::store::job::Upkeep;
use crate::store::{Row, Rows, StoreError};
use crate::tx::{Read as _, UpkeepTx};

/// The upkeep of an ordinary minute.
pub(super) struct Tidy {
    pub(super) flush: FlushPresence,
}

impl Upkeep for Tidy {
    fn run(&self, tx: &mut UpkeepTx<'_, '_>) -> Result<(), StoreError> {
        self.flush.run(tx)?;
        let oldest = tx.now().lease.micros() - IDEMPOTENCY_KEEP_US;
        let sql = "select count(*) from idempotency where lease_us <= ?1";
        if tx.one(sql, params![oldest], Row::take::<i64>)? == 0 {
            // An idle server has nothing to write.
            return Ok(());
        }
        tx.write(
            "delete from idempotency where lease_us <= ?1",
            params![oldest],
            Rows::Any,
        )?;
        tidy_words(tx)
    }
}

/// A write that changes nothing but the lease clock's mark.
pub(super) struct Probe;

impl Upkeep for Probe {
    fn run(&self, tx: &mut UpkeepTx<'_, '_>) -> Result<(), StoreError> {
        tx.touch();
        Ok(())
    }
}
