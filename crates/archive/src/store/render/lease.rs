//! The files of leases and locks.

use comity_domain::{LeaseEnd, LeaseTime, ReservationId, Timestamp};
use comity_kernel::archive::Batch;
use comity_kernel::archive::batch::GrantedLease;
use comity_kernel::log::Recorded;
use comity_kernel::reservation::event::{
    Ended, FilesReserved, Granted, LeaseRenewed, LockAcquired,
};
use serde_json::json;

use super::{Content, name, pretty, slug};
use crate::store::place;

/// A lease as its file shows it.
struct Shown<'a> {
    lease: &'a GrantedLease,
    expires: LeaseTime,
    ended: Option<(LeaseEnd, Timestamp)>,
    because: Option<&'a str>,
}

impl<'a> Shown<'a> {
    fn of(lease: &'a GrantedLease) -> Self {
        Self {
            lease,
            expires: lease.expires,
            ended: None,
            because: None,
        }
    }
}

/// Renders leases on files.
pub(super) fn reserved(
    batch: &Batch,
    recorded: &Recorded,
    granted: &FilesReserved,
) -> Vec<(String, Content)> {
    let one = |lease: &Granted| {
        let held = GrantedLease {
            is_lock: false,
            project: granted.project,
            agent: Some(granted.agent),
            pattern: lease.pattern.to_string(),
            exclusive: granted.mode.is_exclusive(),
            reason: granted.reason.clone(),
            fence: recorded.seq,
            created_at: recorded.at,
            created: granted.granted,
            expires: granted.expires,
        };
        lease_file(batch, lease.id, &Shown::of(&held))
    };
    granted.reservations.iter().map(one).collect()
}

/// Renders a lock.
pub(super) fn locked(
    batch: &Batch,
    recorded: &Recorded,
    granted: &LockAcquired,
) -> (String, Content) {
    let held = GrantedLease {
        is_lock: true,
        project: granted.project,
        agent: granted.agent,
        pattern: granted.name.clone(),
        exclusive: true,
        reason: granted.reason.clone(),
        fence: recorded.seq,
        created_at: recorded.at,
        created: granted.granted,
        expires: granted.expires,
    };
    lease_file(batch, granted.id, &Shown::of(&held))
}

/// Renders a lease that has ended.
pub(super) fn ended(
    batch: &Batch,
    recorded: &Recorded,
    ended: &Ended,
    how: LeaseEnd,
    because: Option<&str>,
) -> Vec<(String, Content)> {
    let Some(lease) = batch.leases.get(&ended.id) else {
        return Vec::new();
    };
    let shown = Shown {
        ended: Some((how, recorded.at)),
        because,
        ..Shown::of(lease)
    };
    vec![lease_file(batch, ended.id, &shown)]
}

/// Renders a lease that lasts longer now.
pub(super) fn renewed(batch: &Batch, renewed: &LeaseRenewed) -> Vec<(String, Content)> {
    let Some(lease) = batch.leases.get(&renewed.id) else {
        return Vec::new();
    };
    let shown = Shown {
        expires: renewed.expires,
        ..Shown::of(lease)
    };
    vec![lease_file(batch, renewed.id, &shown)]
}

fn lease_file(batch: &Batch, id: ReservationId, shown: &Shown<'_>) -> (String, Content) {
    let lease = shown.lease;
    let project = slug(batch, lease.project);
    let span_us = shown.expires.micros() - lease.created.micros();
    let expires_at = Timestamp::from_micros(lease.created_at.micros().saturating_add(span_us));
    let what = if lease.is_lock {
        "lock"
    } else {
        "path_pattern"
    };
    let file = json!({
        "id": id,
        "project": project,
        what: lease.pattern,
        "held_by": name(batch, lease.project, lease.agent),
        "exclusive": lease.exclusive,
        "reason": lease.reason,
        "fence": lease.fence,
        "created_at": lease.created_at,
        "expires_at": expires_at,
        "ended": shown.ended.map(|(how, _)| how),
        "ended_at": shown.ended.map(|(_, at)| at),
        "ended_because": shown.because,
    });
    (place::reservation(project, id), pretty(&file))
}
