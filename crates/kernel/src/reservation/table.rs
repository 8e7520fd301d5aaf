//! Leases: reading rows.

use std::collections::BTreeSet;

use comity_domain::{
    AgentId, LeaseEnd, LeaseTime, Pattern, ProjectId, ReservationId, RunId, Seq, Slug, Timestamp,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::event::Ended;
use super::list::State;
use crate::actor::Actor;
use crate::ambient::Now;
use crate::epoch::next_id;
use crate::error::Error;
use crate::params;
use crate::store::{Row, StoreError};
use crate::tx::Read;

/// As many leases are read one by one; more are read with all that are open.
const ONE_BY_ONE: usize = 16;

/// The columns of a lease, for [`lease`], and where they are found.
macro_rules! lease_from {
    ($rest:literal) => {
        concat!(
            "select r.id, r.kind, r.project_id, p.slug, r.agent_id, a.name, r.pattern, r.pattern_key, r.exclusive,
                r.reason, r.fence, r.created_at, r.created_lease_us, r.expires_lease_us,
                r.ended_at, r.ended
             from reservation r join project p on p.id = r.project_id
             left join agent a on a.id = r.agent_id ",
            $rest
        )
    };
}

pub(crate) use lease_from;

/// A lease on files as callers see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reservation {
    /// Its number.
    pub id: ReservationId,
    /// The holder's number; null for the operator, who may hold locks.
    pub agent_id: Option<AgentId>,
    /// The holder's name.
    pub held_by: String,
    /// The project's slug.
    pub project: Slug,
    /// What it covers, in canonical form.
    pub path_pattern: String,
    /// Whether nobody else may hold the same.
    pub exclusive: bool,
    /// Why it is held.
    pub reason: String,
    /// When it was granted.
    pub created_at: Timestamp,
    /// When it ends on the wall clock, for people; `ttl_remaining_ms` is what binds.
    pub expires_at: Timestamp,
    /// When its end was written down.
    pub released_at: Option<Timestamp>,
    /// How it ended.
    pub ended: Option<LeaseEnd>,
    /// Whether it holds now.
    pub is_active: bool,
    /// The number of the granting event: it only grows.
    pub fence: Seq,
    /// How long it still holds.
    pub ttl_remaining_ms: i64,
}

/// A row: a lease on files or a named lock.
#[derive(Clone, Debug)]
pub(crate) struct Lease {
    pub(crate) id: ReservationId,
    /// Whether it is on a name.
    pub(crate) is_lock: bool,
    pub(crate) project_id: ProjectId,
    pub(crate) project: Slug,
    /// Nobody is the operator.
    pub(crate) agent: Option<AgentId>,
    pub(crate) held_by: String,
    pub(crate) pattern: String,
    /// The same as it is compared.
    pub(crate) key: String,
    pub(crate) exclusive: bool,
    pub(crate) reason: String,
    pub(crate) fence: Seq,
    pub(crate) created_at: Timestamp,
    created: LeaseTime,
    pub(crate) expires: LeaseTime,
    pub(crate) ended_at: Option<Timestamp>,
    ended: Option<LeaseEnd>,
}

impl Lease {
    /// Tells whether it holds: not ended, and its time is not up (F1).
    pub(crate) fn is_active(&self, now: LeaseTime) -> bool {
        self.ended.is_none() && self.expires > now
    }

    /// Tells how it ended; of one whose time is up, before anybody writes it down.
    pub(crate) fn ended(&self, now: LeaseTime) -> Option<LeaseEnd> {
        let is_up = self.expires <= now;
        self.ended.or(is_up.then_some(LeaseEnd::Expired))
    }

    /// Returns how long it still holds.
    pub(crate) fn remaining_ms(&self, now: LeaseTime) -> i64 {
        if self.is_active(now) {
            return (self.expires.micros() - now.micros()) / 1_000;
        }
        0
    }

    /// Returns its end on the wall clock, as it looked when it was granted.
    pub(crate) fn expires_at(&self) -> Timestamp {
        let span_us = self.expires.micros() - self.created.micros();
        Timestamp::from_micros(self.created_at.micros().saturating_add(span_us))
    }

    /// Returns what the event of its end says.
    pub(crate) fn to_end(&self, now: Now) -> Ended {
        Ended {
            id: self.id,
            project: self.project_id,
            agent: self.agent,
            pattern: self.pattern.clone(),
            fence: self.fence,
            ended: now.lease,
        }
    }

    /// Shows a lease on files.
    pub(crate) fn show(self, now: Now) -> Reservation {
        Reservation {
            id: self.id,
            agent_id: self.agent,
            path_pattern: self.pattern.clone(),
            exclusive: self.exclusive,
            created_at: self.created_at,
            expires_at: self.expires_at(),
            released_at: self.ended_at,
            ended: self.ended(now.lease),
            is_active: self.is_active(now.lease),
            fence: self.fence,
            ttl_remaining_ms: self.remaining_ms(now.lease),
            held_by: self.held_by,
            project: self.project,
            reason: self.reason,
        }
    }
}

/// Returns the lease on files with this number, where the caller may see it.
pub(crate) fn visible(
    read: &mut impl Read,
    actor: &Actor,
    id: ReservationId,
) -> Result<Lease, Error> {
    let found = read.row(
        lease_from!("where r.id = ?1 and r.kind = 'files'"),
        params![id],
        lease,
    )?;
    found
        .filter(|lease| actor.project().is_none_or(|own| own == lease.project_id))
        .ok_or_else(|| Error::not_found("reservation", &id))
}

/// Returns a lease or lock by number, whoever asks.
pub(crate) fn by_id(read: &mut impl Read, id: ReservationId) -> Result<Option<Lease>, StoreError> {
    read.row(lease_from!("where r.id = ?1"), params![id], lease)
}

/// Returns those of the numbered leases that are not ended, in the order of their numbers.
pub(super) fn open_among(
    read: &mut impl Read,
    project: ProjectId,
    ids: &BTreeSet<ReservationId>,
) -> Result<Vec<Lease>, StoreError> {
    if ids.len() > ONE_BY_ONE {
        let mut open = open_in(read, project)?;
        open.retain(|lease| ids.contains(&lease.id));
        return Ok(open);
    }
    let mut open = Vec::new();
    for id in ids {
        let found = read.row(
            lease_from!("where r.id = ?1 and r.ended_seq is null"),
            params![*id],
            lease,
        )?;
        open.extend(found);
    }
    Ok(open)
}

/// Returns every lease on files of a project that is not ended.
pub(super) fn open_in(read: &mut impl Read, project: ProjectId) -> Result<Vec<Lease>, StoreError> {
    read.rows(
        lease_from!(
            "where r.project_id = ?1 and r.kind = 'files' and r.ended_seq is null order by r.id"
        ),
        params![project],
        lease,
    )
}

/// Returns what a holder has on exactly this, active or not, as long as it is not ended.
pub(super) fn own(
    read: &mut impl Read,
    agent: AgentId,
    key: &str,
) -> Result<Vec<Lease>, StoreError> {
    read.rows(
        lease_from!(
            "where r.agent_id = ?1 and r.key_hash = ?2 and r.pattern_key = ?3
             and r.kind = 'files' and r.ended_seq is null"
        ),
        params![agent, key_hash(key), key],
        lease,
    )
}

/// Returns everything that a holder has and that is not ended, locks included.
pub(crate) fn held_by(read: &mut impl Read, agent: AgentId) -> Result<Vec<Lease>, StoreError> {
    read.rows(
        lease_from!("where r.agent_id = ?1 and r.ended_seq is null order by r.id"),
        params![agent],
        lease,
    )
}

/// Returns active leases on files of a holder, those that end first coming first.
pub(crate) fn active_of(read: &mut impl Read, agent: AgentId) -> Result<Vec<Lease>, StoreError> {
    let now = read.now().lease;
    let mut held = held_by(read, agent)?;
    held.retain(|lease| !lease.is_lock && lease.is_active(now));
    held.sort_by_key(|lease| (lease.expires, lease.id));
    Ok(held)
}

/// Returns the beginning of a key's SHA-256, by which rows are found.
pub(crate) fn key_hash(key: &str) -> i64 {
    let hash: [u8; 32] = Sha256::digest(key).into();
    let first = hash.iter().take(8);
    first.fold(0, |sum, byte| (sum << 8) | i64::from(*byte))
}

/// Counts what a holder has, locks included.
pub(crate) fn count_of(read: &mut impl Read, agent: AgentId) -> Result<i64, StoreError> {
    let now = read.now().lease;
    read.one(
        "select count(*) from reservation
         where agent_id = ?1 and ended_seq is null and expires_lease_us > ?2",
        params![agent, now],
        Row::take,
    )
}

/// Counts the active leases on files of a project.
pub(crate) fn count_in(read: &mut impl Read, project: ProjectId) -> Result<i64, StoreError> {
    let now = read.now().lease;
    read.one(
        "select count(*) from reservation
         where project_id = ?1 and kind = 'files' and ended_seq is null and expires_lease_us > ?2",
        params![project, now],
        Row::take,
    )
}

/// Returns the number for the next lease or lock.
pub(crate) fn next_id(read: &mut impl Read) -> Result<ReservationId, StoreError> {
    read.one(next_id!("reservation"), &[], Row::take)
}

/// Returns leases and locks whose time is up and whose end is not written.
pub(super) fn due(read: &mut impl Read, limit: i64) -> Result<Vec<Lease>, StoreError> {
    let now = read.now().lease;
    read.rows(
        lease_from!(
            "where r.ended_seq is null and r.expires_lease_us <= ?1
             order by r.expires_lease_us, r.id limit cast(?2 as bigint)"
        ),
        params![now, limit],
        lease,
    )
}

/// Whose leases a page shows, and which.
pub(super) struct Chosen {
    pub(super) project: Option<ProjectId>,
    pub(super) agent: Option<AgentId>,
    pub(super) state: State,
}

/// Leases of a project, or of an agent of it, that hold now: an index has no others.
const ACTIVE_IN_PROJECT: &str = lease_from!(
    "where r.project_id = ?1 and cast(?2 as bigint) is null and r.kind = 'files' and r.id > ?3
     and r.ended_seq is null and r.expires_lease_us > ?4 and cast(?5 as bigint) >= 0
     order by r.id limit cast(?6 as bigint)"
);
const ACTIVE_OF_AGENT: &str = lease_from!(
    "where r.agent_id = ?2 and (cast(?1 as bigint) is null or r.project_id = ?1)
     and r.kind = 'files' and r.id > ?3
     and r.ended_seq is null and r.expires_lease_us > ?4 and cast(?5 as bigint) >= 0
     order by r.id limit cast(?6 as bigint)"
);

/// The same of those that hold no more (1), or of all (0).
const ANY_IN_PROJECT: &str = lease_from!(
    "where r.project_id = ?1 and cast(?2 as bigint) is null and r.kind = 'files' and r.id > ?3
     and (cast(?5 as bigint) = 0 or r.ended_seq is not null or r.expires_lease_us <= ?4)
     order by r.id limit cast(?6 as bigint)"
);
const ANY_OF_AGENT: &str = lease_from!(
    "where r.agent_id = ?2 and (cast(?1 as bigint) is null or r.project_id = ?1)
     and r.kind = 'files' and r.id > ?3
     and (cast(?5 as bigint) = 0 or r.ended_seq is not null or r.expires_lease_us <= ?4)
     order by r.id limit cast(?6 as bigint)"
);

/// Returns a page of leases on files.
pub(super) fn page(
    read: &mut impl Read,
    chosen: &Chosen,
    after: i64,
    limit: i64,
) -> Result<Vec<Lease>, StoreError> {
    let now = read.now().lease;
    let sql = match (chosen.state, chosen.agent) {
        (State::Active, None) => ACTIVE_IN_PROJECT,
        (State::Active, Some(_)) => ACTIVE_OF_AGENT,
        (State::Ended | State::All, None) => ANY_IN_PROJECT,
        (State::Ended | State::All, Some(_)) => ANY_OF_AGENT,
    };
    let only_ended = i64::from(chosen.state == State::Ended);
    read.rows(
        sql,
        params![chosen.project, chosen.agent, after, now, only_ended, limit],
        lease,
    )
}

/// Reads a row.
pub(crate) fn lease(row: &mut Row) -> Result<Lease, StoreError> {
    Ok(Lease {
        id: row.take()?,
        is_lock: row.take::<String>()? == "lock",
        project_id: row.take()?,
        project: Slug::from_stored(row.take()?),
        agent: row.take()?,
        held_by: row
            .take::<Option<String>>()?
            .unwrap_or_else(|| "operator".to_owned()),
        pattern: row.take()?,
        key: row.take()?,
        exclusive: row.take()?,
        reason: row.take()?,
        fence: row.take()?,
        created_at: row.take()?,
        created: row.take()?,
        expires: row.take()?,
        ended_at: row.take()?,
        ended: end(row)?,
    })
}

fn end(row: &mut Row) -> Result<Option<LeaseEnd>, StoreError> {
    let Some(word) = row.take::<Option<String>>()? else {
        return Ok(None);
    };
    let end = LeaseEnd::from_word(&word).ok_or(StoreError::Shape("a known word"))?;
    Ok(Some(end))
}

/// Reads a pattern as it is compared in its project.
pub(super) fn compared(pattern: &str, case_insensitive: bool) -> Result<Pattern, StoreError> {
    // What cannot be read any more may be anything: when unsure, it overlaps (F12).
    let pattern = Pattern::parse(pattern).or_else(|_| Pattern::parse("**"));
    let pattern = pattern.map_err(|_| StoreError::Shape("a pattern"))?;
    Ok(super::files::compared(&pattern, case_insensitive))
}

/// Returns the leases and locks that belong to a run and are not ended.
pub(crate) fn of_run(read: &mut impl Read, run: RunId) -> Result<Vec<Lease>, StoreError> {
    read.rows(
        lease_from!("where r.run_id = ?1 and r.ended_seq is null order by r.id"),
        params![run],
        lease,
    )
}

/// Counts the leases and locks that belong to a run and are not ended.
pub(crate) fn count_of_run(read: &mut impl Read, run: RunId) -> Result<i64, StoreError> {
    read.one(
        "select count(*) from reservation where run_id = ?1 and ended_seq is null",
        params![run],
        Row::take,
    )
}
