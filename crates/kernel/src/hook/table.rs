//! Hooks: reading rows.

use comity_domain::limits::{HOOK_DEAD_MAX, HOOK_WAITING_MAX};
use comity_domain::{HookId, Seq, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::epoch::next_id;
use crate::event::Filter;
use crate::params;
use crate::store::{Row, StoreError};
use crate::tx::Read;

/// A hook as the operator sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hook {
    /// Its number.
    pub id: HookId,
    /// Which events it is told, by numbers.
    pub filter: Filter,
    /// The address it is told at; null for a program.
    pub url: Option<String>,
    /// The program that is told, with its arguments; null for an address.
    pub command: Option<Vec<String>>,
    /// The last event that it is not told.
    pub since: Seq,
    /// How it goes on.
    pub state: HookState,
    /// Every event up to here was told, waits, is a dead letter or is not wanted; null where that is
    /// not known any more.
    pub through: Option<Seq>,
    /// How many events of the log are behind that.
    pub lag: i64,
    /// How many events wait to be told.
    pub waiting: i64,
    /// How many events were given up.
    pub dead: i64,
    /// What went wrong with the oldest event that waits, if it was tried.
    pub last_error: Option<String>,
    /// When it was added.
    pub created_at: Timestamp,
    /// When it was removed.
    pub removed_at: Option<Timestamp>,
    /// How many events it has.
    pub revision: i64,
}

/// How a hook goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum HookState {
    /// It is told what happens.
    Following,
    /// As much waits as may; what follows stays in the log until there is room.
    Full,
    /// There are as many dead letters as may be; nothing new is taken until some are told or the
    /// hook is removed.
    Stalled,
    /// Its place and secret were lost with the database; remove it and add another.
    Lost,
    /// It was removed.
    Removed,
}

/// Reads a hook with where it stands.
fn hook(row: &mut Row, head: Seq) -> Result<Hook, StoreError> {
    let unreadable = |_| StoreError::Shape("a hook");
    let id = row.take()?;
    let filter: String = row.take()?;
    let url = row.take()?;
    let command: Option<String> = row.take()?;
    let command = command.map(|words| serde_json::from_str(&words));
    let since = row.take()?;
    let created_at = row.take()?;
    let removed_at: Option<Timestamp> = row.take()?;
    let revision = row.take()?;
    let through: Option<Seq> = row.take()?;
    let (waiting, dead): (i64, i64) = (row.take()?, row.take()?);
    let state = match through {
        _ if removed_at.is_some() => HookState::Removed,
        None => HookState::Lost,
        Some(_) if dead >= HOOK_DEAD_MAX => HookState::Stalled,
        Some(_) if waiting >= HOOK_WAITING_MAX => HookState::Full,
        Some(_) => HookState::Following,
    };
    Ok(Hook {
        id,
        filter: serde_json::from_str(&filter).map_err(unreadable)?,
        url,
        command: command.transpose().map_err(unreadable)?,
        since,
        state,
        through,
        lag: through.map_or(0, |through| (head.get() - through.get()).max(0)),
        waiting,
        dead,
        last_error: row.take()?,
        created_at,
        removed_at,
        revision,
    })
}

macro_rules! select_hook {
    ($rest:literal) => {
        concat!(
            "select h.id, h.filter, h.url, h.command, h.since_seq, h.created_at, h.removed_at,
                h.revision, c.through,
                (select count(*) from hook_delivery d where d.hook_id = h.id and d.dead_at is null),
                (select count(*) from hook_delivery d
                 where d.hook_id = h.id and d.dead_at is not null),
                (select d.last_error from hook_delivery d
                 where d.hook_id = h.id and d.dead_at is null and d.last_error is not null
                 order by d.seq limit 1)
             from hook h left join hook_cursor c on c.hook_id = h.id ",
            $rest
        )
    };
}

/// Returns a hook, removed or not.
pub(super) fn by_id(read: &mut impl Read, id: HookId) -> Result<Option<Hook>, StoreError> {
    let head = read.head();
    let sql = select_hook!("where h.id = ?1");
    read.row(sql, params![id], |row| hook(row, head))
}

/// Returns the hooks that are there, by number.
pub(super) fn page(read: &mut impl Read, after: i64, limit: i64) -> Result<Vec<Hook>, StoreError> {
    let head = read.head();
    let sql = select_hook!(
        "where h.removed_at is null and h.id > ?1 order by h.id limit cast(?2 as bigint)"
    );
    read.rows(sql, params![after, limit], |row| hook(row, head))
}

/// Counts the hooks that are there.
pub(super) fn count(read: &mut impl Read) -> Result<i64, StoreError> {
    let sql = "select count(*) from hook where removed_at is null";
    read.one(sql, &[], Row::take)
}

/// Returns the number for the next hook.
pub(super) fn next_id(read: &mut impl Read) -> Result<HookId, StoreError> {
    read.one(next_id!("hook"), &[], Row::take)
}
