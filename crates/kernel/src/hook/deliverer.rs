//! Which of several servers tells the hooks of a workspace: one at a time, elected by a row.

use comity_domain::limits::HOOK_LEASE_US;

use crate::params;
use crate::store::job::Upkeep;
use crate::store::{Rows, StoreError};
use crate::tx::{Read, UpkeepTx};

/// Who tells the hooks now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deliverer {
    /// The server, by a random name of its process.
    pub holder: String,
    /// How often that has changed; who was replaced writes no more.
    pub fence: i64,
}

/// Reads who tells the hooks now.
pub(super) fn present(read: &mut impl Read) -> Result<Option<Deliverer>, StoreError> {
    read.row("select holder, fence from hook_deliverer", &[], |row| {
        Ok(Deliverer {
            holder: row.take()?,
            fence: row.take()?,
        })
    })
}

/// Tells whether nobody has taken over since.
pub(super) fn holds(tx: &mut UpkeepTx<'_, '_>, fence: i64) -> Result<bool, StoreError> {
    Ok(present(tx)?.is_some_and(|present| present.fence == fence))
}

/// Whether somebody else's time must be up first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// Others may live: their time must be up.
    Patient,
    /// Nobody else can serve this database: whoever is in the row is dead.
    Alone,
}

/// Stands for election: takes or renews the office if it is free.
#[derive(Clone, Debug)]
pub(crate) struct Stand {
    pub(crate) holder: String,
    pub(crate) manner: Manner,
}

impl Upkeep for Stand {
    fn run(&self, tx: &mut UpkeepTx<'_, '_>) -> Result<(), StoreError> {
        let now = tx.now().lease.micros();
        let dead_before = match self.manner {
            Manner::Patient => now,
            Manner::Alone => i64::MAX,
        };
        tx.write(
            "insert into hook_deliverer (id, holder, fence, until_us) values (1, ?1, 1, ?2)
             on conflict (id) do update set
                 fence = case when hook_deliverer.holder = excluded.holder
                     then hook_deliverer.fence else hook_deliverer.fence + 1 end,
                 holder = excluded.holder, until_us = excluded.until_us
             where hook_deliverer.holder = excluded.holder or hook_deliverer.until_us <= ?3",
            params![&self.holder, now.saturating_add(HOOK_LEASE_US), dead_before],
            Rows::Any,
        )
    }
}

/// Leaves the office, so that another need not wait.
#[derive(Clone, Debug)]
pub(crate) struct Resign {
    pub(crate) holder: String,
}

impl Upkeep for Resign {
    fn run(&self, tx: &mut UpkeepTx<'_, '_>) -> Result<(), StoreError> {
        let sql = "update hook_deliverer set until_us = 0 where holder = ?1";
        tx.write(sql, params![&self.holder], Rows::Any)
    }
}
