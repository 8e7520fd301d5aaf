//! How the hooks stand as a whole, for health and metrics.

use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::query::Query;
use crate::tx::{Read as _, Snapshot};

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
        })
    }
}
