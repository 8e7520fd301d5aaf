//! What a server that tells hooks needs to know.

use comity_domain::limits::{HOOK_DEAD_MAX, HOOK_WAITING_MAX};
use comity_domain::{HookCommand, HookId, HookSecret, HookUrl, Seq};

use super::deliverer::{Deliverer, present};
use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::event::{Entry, Filter, View, one, pruned};
use crate::params;
use crate::query::Query;
use crate::store::StoreError;
use crate::tx::{Read, Snapshot};

/// Asks what there is to tell.
#[derive(Clone, Copy, Debug)]
pub struct HookWork {
    /// How many events of each hook, at most.
    pub each: i64,
}

/// What there is to tell.
#[derive(Clone, Debug)]
pub struct Work {
    /// Who tells it.
    pub deliverer: Option<Deliverer>,
    /// The hooks, by number.
    pub hooks: Vec<HookTask>,
}

/// A hook and what is due for it.
#[derive(Clone, Debug)]
pub struct HookTask {
    /// Its number.
    pub id: HookId,
    /// Which events it wants.
    pub filter: Filter,
    /// Who is told.
    pub target: Target,
    /// Where it stands.
    pub through: Seq,
    /// How many more events may wait.
    pub room: i64,
    /// What may be told now: of each subject the first that waits.
    pub due: Vec<Due>,
    /// How long until something more may be told.
    pub next_us: Option<i64>,
}

/// Who is told.
#[derive(Clone, Debug)]
pub enum Target {
    /// A service.
    Url(HookUrl, HookSecret),
    /// A program.
    Command(HookCommand),
}

/// An event that may be told now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// Its place in the log.
    pub seq: Seq,
    /// How often it was tried.
    pub attempts: i64,
}

impl Query for HookWork {
    const NAME: &'static str = "hook_work";
    const WHO: &'static [Party] = &[];
    type Answer = Work;

    fn run(&self, _: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Work, Error> {
        let mut hooks = live(snapshot)?;
        for hook in &mut hooks {
            hook.due = due(snapshot, hook.id, self.each)?;
            hook.next_us = next(snapshot, hook.id)?;
        }
        Ok(Work {
            deliverer: present(snapshot)?,
            hooks,
        })
    }
}

fn live(read: &mut impl Read) -> Result<Vec<HookTask>, StoreError> {
    let unreadable = StoreError::Shape("a hook");
    let hooks = read.rows(
        "select h.id, h.filter, h.url, h.command, c.secret, c.through,
            (select count(*) from hook_delivery d where d.hook_id = h.id and d.dead_at is null),
            (select count(*) from hook_delivery d where d.hook_id = h.id and d.dead_at is not null)
         from hook h join hook_cursor c on c.hook_id = h.id
         where h.removed_at is null order by h.id",
        &[],
        |row| {
            let id = row.take()?;
            let filter: String = row.take()?;
            let (url, command): (Option<String>, Option<String>) = (row.take()?, row.take()?);
            let secret: Option<[u8; 32]> = row.take()?;
            let target = target(url, command, secret).ok_or_else(|| unreadable.clone())?;
            let through = row.take()?;
            let (waiting, dead): (i64, i64) = (row.take()?, row.take()?);
            Ok(HookTask {
                id,
                filter: serde_json::from_str(&filter).map_err(|_| unreadable.clone())?,
                target,
                through,
                room: (HOOK_WAITING_MAX - waiting)
                    .min(HOOK_DEAD_MAX - dead)
                    .max(0),
                due: Vec::new(),
                next_us: None,
            })
        },
    )?;
    Ok(hooks)
}

fn target(
    url: Option<String>,
    command: Option<String>,
    secret: Option<[u8; 32]>,
) -> Option<Target> {
    match (url, command, secret) {
        (Some(url), None, Some(secret)) => {
            let url = HookUrl::parse(&url).ok()?;
            Some(Target::Url(url, HookSecret::new(secret)))
        }
        (None, Some(words), _) => Some(Target::Command(serde_json::from_str(&words).ok()?)),
        _ => None,
    }
}

/// Of each subject the first event that waits, if it has rested: this is what keeps the order.
fn due(read: &mut impl Read, hook: HookId, limit: i64) -> Result<Vec<Due>, StoreError> {
    let now = read.now().lease;
    read.rows(
        "select d.seq, d.attempts from hook_delivery d
         where d.hook_id = ?1 and d.dead_at is null and d.next_lease_us <= ?2
             and not exists (
                 select 1 from hook_delivery e
                 where e.hook_id = d.hook_id and e.subject_type = d.subject_type
                     and e.subject_id = d.subject_id and e.seq < d.seq and e.dead_at is null)
         order by d.seq limit cast(?3 as bigint)",
        params![hook, now, limit],
        |row| {
            Ok(Due {
                seq: row.take()?,
                attempts: row.take()?,
            })
        },
    )
}

/// How long until the next event has rested.
fn next(read: &mut impl Read, hook: HookId) -> Result<Option<i64>, StoreError> {
    let now = read.now().lease;
    let next: Option<i64> = read.one(
        "select min(next_lease_us) from hook_delivery
         where hook_id = ?1 and dead_at is null and next_lease_us > ?2",
        params![hook, now],
        crate::store::Row::take,
    )?;
    Ok(next.map(|next| next - now.micros()))
}

/// Asks for one event as it is told.
#[derive(Clone, Copy, Debug)]
pub struct HookEvent {
    /// Its place in the log.
    pub seq: Seq,
}

/// An event as it is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToldEvent {
    /// Its kind.
    pub kind: String,
    /// The whole of it as one line of JSON, without secrets.
    pub json: String,
}

impl Query for HookEvent {
    const NAME: &'static str = "hook_event";
    const WHO: &'static [Party] = &[];
    type Answer = Option<ToldEvent>;

    fn run(&self, _: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Self::Answer, Error> {
        pruned::must_be_left(snapshot, self.seq)?;
        let found = one(snapshot, self.seq)?;
        let told = |entry: Entry| -> Result<ToldEvent, Error> {
            Ok(ToldEvent {
                kind: entry.kind().to_owned(),
                json: entry.json(View::Whole)?,
            })
        };
        found.map(told).transpose()
    }
}
