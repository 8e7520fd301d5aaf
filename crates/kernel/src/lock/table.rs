//! Locks: reading rows.

use comity_domain::{AgentId, LeaseEnd, ProjectId, ReservationId, Seq, Slug, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ambient::Now;
use crate::error::Error;
use crate::params;
use crate::reservation::table::{Lease, key_hash, lease, lease_from};
use crate::store::StoreError;
use crate::tx::Read;

/// A named lock as callers see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lock {
    /// Its number; `force_release` takes it.
    pub id: ReservationId,
    /// Its name.
    pub name: String,
    /// The project's slug.
    pub project: Slug,
    /// The holder's number; null for the operator.
    pub agent_id: Option<AgentId>,
    /// The holder's name.
    pub held_by: String,
    /// Why it is held.
    pub reason: String,
    /// When it was granted.
    pub created_at: Timestamp,
    /// When it ends on the wall clock, for people; `ttl_remaining_ms` is what binds.
    pub expires_at: Timestamp,
    /// Whether it holds now.
    pub is_active: bool,
    /// The number of the granting event: it only grows.
    pub fence: Seq,
    /// How long it still holds.
    pub ttl_remaining_ms: i64,
}

/// Shows a lock.
pub(super) fn show(lease: Lease, now: Now) -> Lock {
    Lock {
        id: lease.id,
        agent_id: lease.agent,
        created_at: lease.created_at,
        expires_at: lease.expires_at(),
        is_active: lease.is_active(now.lease),
        fence: lease.fence,
        ttl_remaining_ms: lease.remaining_ms(now.lease),
        name: lease.pattern,
        project: lease.project,
        held_by: lease.held_by,
        reason: lease.reason,
    }
}

/// Returns the active lock of a name.
pub(crate) fn active(
    read: &mut impl Read,
    project: ProjectId,
    name: &str,
) -> Result<Option<Lease>, StoreError> {
    let now = read.now().lease;
    read.row(
        lease_from!(
            "where r.project_id = ?1 and r.key_hash = ?2 and r.pattern_key = ?3 and r.kind = 'lock'
             and r.ended_seq is null and r.expires_lease_us > ?4 order by r.id desc limit 1"
        ),
        params![project, key_hash(name), name, now],
        lease,
    )
}

/// Returns the lock that somebody means by a name: the one with the fence it knows, or its own last
/// one, or that of whoever has the name.
///
/// A holder whose lock has expired is told so, also when another has the lock by now (F9).
pub(super) fn meant(
    read: &mut impl Read,
    project: ProjectId,
    name: &str,
    holder: Option<AgentId>,
    fence: Option<Seq>,
) -> Result<Lease, Error> {
    let locks = read.rows(
        lease_from!(
            "where r.project_id = ?1 and r.key_hash = ?2 and r.pattern_key = ?3 and r.kind = 'lock'
             order by r.id desc limit 100"
        ),
        params![project, key_hash(name), name],
        lease,
    )?;
    let now = read.now().lease;
    let own = |lease: &&Lease| lease.agent == holder;
    let known = locks
        .iter()
        .filter(own)
        .find(|lease| fence == Some(lease.fence));
    let own_last = locks.iter().find(own);
    let expired = own_last.filter(|lease| lease.ended(now) == Some(LeaseEnd::Expired));
    let is_anothers = |lease: &&Lease| lease.is_active(now) && lease.agent != holder;
    let anothers = locks.first().filter(is_anothers);
    let meant = known
        .or(expired)
        .or(anothers)
        .or(own_last)
        .or(locks.first());
    meant
        .cloned()
        .ok_or_else(|| Error::not_found("lock", &name))
}

/// Returns a page of active locks.
pub(super) fn page(
    read: &mut impl Read,
    project: ProjectId,
    after: i64,
    limit: i64,
) -> Result<Vec<Lease>, StoreError> {
    let now = read.now().lease;
    read.rows(
        lease_from!(
            "where r.project_id = ?1 and r.kind = 'lock' and r.ended_seq is null
             and r.expires_lease_us > ?2 and r.id > ?3 order by r.id limit cast(?4 as bigint)"
        ),
        params![project, now, after, limit],
        lease,
    )
}
