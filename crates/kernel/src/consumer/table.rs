//! Consumers: reading rows.

use comity_domain::suggest::nearest;
use comity_domain::{AgentId, ConsumerId, LeaseTime, ProjectId, Seq, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::cursor::{Cursor, CursorRow};
use crate::actor::Actor;
use crate::epoch::next_id;
use crate::error::Error;
use crate::event::Filter;
use crate::params;
use crate::project::table::{self as project_table, ProjectRef};
use crate::store::{Row, StoreError};
use crate::tx::Read;

/// A consumer as callers see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Consumer {
    /// Its number.
    pub id: ConsumerId,
    /// Its name.
    pub name: String,
    /// Its project's number; null for the whole workspace.
    pub project_id: Option<ProjectId>,
    /// Which events it wants.
    pub filter: Filter,
    /// Whether it stays however long it is silent; pruning waits for it then.
    pub durable: bool,
    /// After how long a silence it is gone, if it is not durable.
    pub ttl_ms: Option<i64>,
    /// Its generation, which polls and acknowledgements must name.
    pub generation: i64,
    /// The last event that it acknowledged.
    pub acked_seq: Seq,
    /// When it acknowledged last; null if it has not yet.
    pub acked_at: Option<Timestamp>,
    /// When it asked or acknowledged last, to half a minute; null if it has not yet.
    pub seen_at: Option<Timestamp>,
    /// How many events the log has behind that, wanted or not.
    pub lag: i64,
    /// When the oldest of them happened; null if there is none.
    pub oldest_at: Option<Timestamp>,
    /// What it keeps of its own.
    pub extra: Map<String, Value>,
    /// Who registered it last, by number; null for the operator.
    pub agent_id: Option<AgentId>,
    /// When it was registered last.
    pub registered_at: Timestamp,
    /// How many events it has.
    pub revision: i64,
}

/// A consumer as its rows have it.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) id: ConsumerId,
    pub(super) project: Option<ProjectId>,
    pub(super) name: String,
    pub(super) filter: Filter,
    pub(super) ttl_us: Option<i64>,
    pub(super) generation: i64,
    agent: Option<AgentId>,
    placed: Seq,
    registered_at: Timestamp,
    revision: i64,
    /// Whether it is written down that it is gone.
    ended: bool,
    /// The last event that it acknowledged, or where it starts.
    pub(super) position: Seq,
    pub(super) cursor: Cursor,
    pub(super) acked_at: Option<Timestamp>,
    seen_at: Option<Timestamp>,
    /// When it was registered, asked or acknowledged last.
    pub(super) seen: LeaseTime,
}

/// The durable consumer that is furthest behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Furthest {
    /// Its name.
    pub name: String,
    /// The last event that it acknowledged.
    pub acked_seq: Seq,
}

impl Stored {
    /// Tells whether it is there still: a silent one is gone, written down or not.
    pub(super) fn is_alive(&self, now: LeaseTime) -> bool {
        let silent_us = now.micros() - self.seen.micros();
        !self.ended && self.ttl_us.is_none_or(|ttl_us| silent_us < ttl_us)
    }

    /// Refuses an instance that somebody has taken the consumer over from.
    pub(super) fn must_be_of(&self, generation: i64) -> Result<(), Error> {
        if self.generation == generation {
            return Ok(());
        }
        Err(Error::WrongGeneration {
            consumer: self.name.clone(),
            given: generation,
            present: self.generation,
        })
    }

    /// Returns the last epoch that it has come to, or that there was when it was placed.
    pub(super) fn epoch(&self, read: &mut impl Read) -> Result<Seq, StoreError> {
        match self.cursor.epoch() {
            Some(epoch) => Ok(epoch),
            None => epoch_at(read, self.placed),
        }
    }

    /// Returns its cursor, to be kept.
    pub(super) fn row(&self) -> CursorRow {
        CursorRow {
            consumer: self.id,
            placed: self.placed,
            seq: self.position,
            document: self.cursor.write(),
            acked_at: self.acked_at,
        }
    }

    /// Shows it.
    pub(super) fn show(self, read: &mut impl Read) -> Result<Consumer, StoreError> {
        Ok(Consumer {
            lag: lag(read, self.position)?,
            oldest_at: next_at(read, self.position)?,
            id: self.id,
            name: self.name,
            project_id: self.project,
            filter: self.filter,
            durable: self.ttl_us.is_none(),
            ttl_ms: self.ttl_us.map(|ttl_us| ttl_us / 1_000),
            generation: self.generation,
            acked_seq: self.position,
            acked_at: self.acked_at,
            seen_at: self.seen_at,
            extra: self.cursor.extra(),
            agent_id: self.agent,
            registered_at: self.registered_at,
            revision: self.revision,
        })
    }
}

/// Returns whose consumers a caller means: an agent its project's, others a project's or none's.
pub(super) fn scope(
    read: &mut impl Read,
    actor: &Actor,
    project: Option<&ProjectRef>,
) -> Result<Option<ProjectId>, Error> {
    if project.is_none() && actor.project().is_none() {
        return Ok(None);
    }
    Ok(Some(project_table::resolve(read, actor, project)?.id))
}

/// Returns a consumer that is there.
pub(super) fn present(
    read: &mut impl Read,
    scope: Option<ProjectId>,
    name: &str,
) -> Result<Stored, Error> {
    let now = read.now().lease;
    if let Some(found) = by_name(read, scope, name)?.filter(|found| found.is_alive(now)) {
        return Ok(found);
    }
    let names = names(read, scope)?;
    Err(Error::NotFound {
        kind: "consumer",
        name: name.to_owned(),
        near: nearest(name, names.iter().map(String::as_str))
            .filter(|near| *near != name)
            .map(str::to_owned),
    })
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select c.id, c.project_id, c.name, c.filter, c.ttl_us, c.generation, c.agent_id,
                c.placed_seq, c.registered_at, c.revision, c.ended_at, c.since,
                c.registered_lease_us, k.placed_seq, k.seq, k.document, k.acked_at, k.seen_at,
                k.seen_lease_us
             from consumer c left join consumer_cursor k on k.consumer_id = c.id ",
            $rest
        )
    };
}

/// Returns a consumer by its name, gone or not.
pub(super) fn by_name(
    read: &mut impl Read,
    scope: Option<ProjectId>,
    name: &str,
) -> Result<Option<Stored>, StoreError> {
    match scope {
        Some(project) => read.row(
            select!("where c.project_id = ?1 and c.name = ?2"),
            params![project, name],
            stored,
        ),
        None => read.row(
            select!("where c.project_id is null and c.name = ?1"),
            params![name],
            stored,
        ),
    }
}

/// Returns consumers that are not written down as gone, of one project or of all.
pub(super) fn page(
    read: &mut impl Read,
    project: Option<ProjectId>,
    after: i64,
    limit: i64,
) -> Result<Vec<Stored>, StoreError> {
    read.rows(
        select!(
            "where c.ended_at is null and c.id > ?2
                and (cast(?1 as bigint) is null or c.project_id = ?1)
             order by c.id limit cast(?3 as bigint)"
        ),
        params![project, after, limit],
        stored,
    )
}

/// Returns consumers that were silent for longer than they may be.
pub(super) fn silent(
    read: &mut impl Read,
    now: LeaseTime,
    limit: i64,
) -> Result<Vec<Stored>, StoreError> {
    read.rows(
        select!(
            "where c.ttl_us is not null and c.ended_at is null
                and c.registered_lease_us + c.ttl_us <= ?1
                and coalesce(k.seen_lease_us, 0) + c.ttl_us <= ?1
             order by c.id limit cast(?2 as bigint)"
        ),
        params![now, limit],
        stored,
    )
}

/// Counts the consumers of a project, or of the workspace.
pub(super) fn count(read: &mut impl Read, scope: Option<ProjectId>) -> Result<i64, StoreError> {
    read.one(
        "select count(*) from consumer
         where ended_at is null and coalesce(project_id, 0) = coalesce(cast(?1 as bigint), 0)",
        params![scope],
        Row::take,
    )
}

fn names(read: &mut impl Read, scope: Option<ProjectId>) -> Result<Vec<String>, StoreError> {
    read.rows(
        "select name from consumer
         where ended_at is null and coalesce(project_id, 0) = coalesce(cast(?1 as bigint), 0)
         order by name limit 500",
        params![scope],
        Row::take,
    )
}

fn stored(row: &mut Row) -> Result<Stored, StoreError> {
    let (id, project, name) = (row.take()?, row.take()?, row.take()?);
    let filter: String = row.take()?;
    let filter = serde_json::from_str(&filter).map_err(|_| StoreError::Shape("a filter"))?;
    let (ttl_us, generation, agent) = (row.take()?, row.take()?, row.take()?);
    let (placed, registered_at, revision) = (row.take()?, row.take()?, row.take()?);
    let ended: Option<Timestamp> = row.take()?;
    let (since, registered): (Seq, LeaseTime) = (row.take()?, row.take()?);
    let of: Option<Seq> = row.take()?;
    let (seq, document): (Option<Seq>, Option<String>) = (row.take()?, row.take()?);
    let (acked_at, seen_at) = (row.take()?, row.take()?);
    let seen: Option<LeaseTime> = row.take()?;
    // A cursor from before the consumer was moved says where it was, not where it is.
    let position = seq.filter(|_| of == Some(placed)).unwrap_or(since);
    let mut cursor = match document {
        Some(document) => Cursor::read(&document).ok_or(StoreError::Shape("a cursor"))?,
        None => Cursor::start(position),
    };
    if of != Some(placed) {
        cursor.place(position);
    }
    Ok(Stored {
        id,
        project,
        name,
        filter,
        ttl_us,
        generation,
        agent,
        placed,
        registered_at,
        revision,
        ended: ended.is_some(),
        position,
        cursor,
        acked_at,
        seen_at,
        seen: seen.map_or(registered, |seen| seen.max(registered)),
    })
}

/// Returns the durable consumer that is furthest behind: nothing behind it may be pruned.
pub fn furthest_behind(read: &mut impl Read) -> Result<Option<Furthest>, StoreError> {
    read.row(
        "select c.name, case when k.placed_seq = c.placed_seq then k.seq else c.since end as acked
         from consumer c left join consumer_cursor k on k.consumer_id = c.id
         where c.ttl_us is null and c.ended_at is null order by acked, c.id limit 1",
        &[],
        |row| {
            Ok(Furthest {
                name: row.take()?,
                acked_seq: row.take()?,
            })
        },
    )
}

/// Returns the number of the last epoch that had begun at a place; 0 in the first.
pub(super) fn epoch_at(read: &mut impl Read, seq: Seq) -> Result<Seq, StoreError> {
    read.one(
        "select coalesce(max(id), 0) from epoch where id <= ?1",
        params![seq],
        Row::take,
    )
}

/// Counts the events behind a place; the numbers that an epoch left out are none.
fn lag(read: &mut impl Read, position: Seq) -> Result<i64, StoreError> {
    let left_out: i64 = read.one(
        "select coalesce(cast(sum(id - 1 - case when after_seq > ?1 then after_seq else ?1 end)
            as bigint), 0)
         from epoch where id > ?1",
        params![position],
        Row::take,
    )?;
    Ok(read.head().get() - position.get() - left_out)
}

fn next_at(read: &mut impl Read, position: Seq) -> Result<Option<Timestamp>, StoreError> {
    read.row(
        "select at from event where seq > ?1 order by seq limit 1",
        params![position],
        Row::take,
    )
}

/// Returns the number for the next consumer.
pub(super) fn next_id(read: &mut impl Read) -> Result<ConsumerId, StoreError> {
    read.one(next_id!("consumer"), &[], Row::take)
}
