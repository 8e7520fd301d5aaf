//! How the hooks stand as a whole, for health and metrics.

use comity_domain::{HookId, Seq};

use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::query::Query;
use crate::store::StoreError;
use crate::tx::{Read, Snapshot};

/// Asks how the hooks stand.
#[derive(Clone, Copy, Debug)]
pub struct HookStanding;

/// How the hooks stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HooksStand {
    /// How many there are.
    pub hooks: i64,
    /// How many of them lost their place and secret.
    pub lost: i64,
    /// How many events of the log the slowest has not taken.
    pub lag: i64,
    /// How many events wait to be told.
    pub waiting: i64,
    /// How many were given up.
    pub dead: i64,
    /// The place up to which no hook needs the log any more.
    pub needed_after: Option<Seq>,
}

impl Query for HookStanding {
    const NAME: &'static str = "hook_standing";
    const WHO: &'static [Party] = &[];
    type Answer = HooksStand;

    fn run(&self, _: &Actor, snapshot: &mut Snapshot<'_>) -> Result<HooksStand, Error> {
        let head = snapshot.head().get();
        let (hooks, cursors, lowest): (i64, i64, Option<i64>) = snapshot.one(
            "select count(*), count(c.hook_id), min(c.through)
             from hook h left join hook_cursor c on c.hook_id = h.id where h.removed_at is null",
            &[],
            |row| Ok((row.take()?, row.take()?, row.take()?)),
        )?;
        let (all, dead): (i64, i64) = snapshot.one(
            "select count(*), count(dead_at) from hook_delivery",
            &[],
            |row| Ok((row.take()?, row.take()?)),
        )?;
        Ok(HooksStand {
            hooks,
            lost: hooks - cursors,
            lag: lowest.map_or(0, |lowest| (head - lowest).max(0)),
            waiting: all - dead,
            dead,
            needed_after: lowest_position(snapshot)?.map(|(_, needed)| needed),
        })
    }
}

/// Returns the place up to which no hook needs the log any more, and the hook that needs what comes
/// next; nothing without hooks.
///
/// Dead letters do not count: they may lie for ever. One whose event is gone cannot be retried.
pub fn lowest_position(read: &mut impl Read) -> Result<Option<(HookId, Seq)>, StoreError> {
    read.row(
        "select hook_id, needed from (
            select c.hook_id, c.through as needed from hook_cursor c
            join hook h on h.id = c.hook_id and h.removed_at is null
            union all
            select d.hook_id, d.seq - 1 as needed from hook_delivery d where d.dead_at is null
         ) as positions order by needed, hook_id limit 1",
        &[],
        |row| Ok((row.take()?, row.take()?)),
    )
}
