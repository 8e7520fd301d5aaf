//! Leases: from event to rows.

use comity_domain::{LeaseEnd, ProjectId, ReleaseRequestId, ReservationId, RunId};

use super::event::{
    Ended, FilesReserved, LeaseExpired, LeaseForced, LeaseReleased, LeaseRenewed, LeaseRetired,
    LockAcquired, ReleaseAnswered, ReleaseRequested,
};
use super::table::key_hash;
use crate::log::{Apply, Place, Subject, SubjectKind, Tables};
use crate::params;
use crate::redaction::{Redacted, Spot, blank};
use crate::store::{Rows, StoreError};

const fn lease(id: ReservationId) -> Subject {
    Subject {
        kind: SubjectKind::Reservation,
        id: id.get(),
    }
}

const fn request(id: ReleaseRequestId) -> Subject {
    Subject {
        kind: SubjectKind::ReleaseRequest,
        id: id.get(),
    }
}

impl Apply for FilesReserved {
    fn largest_id(&self) -> i64 {
        let ids = self.reservations.iter().map(|one| one.id.get());
        ids.max().unwrap_or_default()
    }

    fn subject(&self) -> Subject {
        lease(
            self.reservations
                .first()
                .map_or(ReservationId::new(0), |first| first.id),
        )
    }

    fn project(&self) -> Option<ProjectId> {
        Some(self.project)
    }

    fn run(&self) -> Option<RunId> {
        self.run
    }

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        for granted in &self.reservations {
            tables.write(
                "insert into reservation (id, kind, project_id, agent_id, pattern, pattern_key,
                    key_hash, exclusive, reason, fence, created_at, created_lease_us,
                    expires_lease_us, run_id)
                 values (?1, 'files', ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
                params![
                    granted.id,
                    self.project,
                    self.agent,
                    granted.pattern.as_str(),
                    &granted.key,
                    key_hash(&granted.key),
                    i64::from(self.mode.is_exclusive()),
                    &self.reason,
                    place.seq,
                    place.at,
                    self.granted,
                    self.expires,
                    self.run,
                ],
                Rows::Exactly(1),
            )?;
        }
        Ok(())
    }

    fn redacted(&self) -> Option<Redacted> {
        let remnant = Self {
            reason: blank(&self.reason),
            ..self.clone()
        };
        let all = self.reservations.iter();
        Some(all.fold(Redacted::to(remnant), |redacted, granted| {
            redacted.from(Spot::LeaseReason, granted.id, &self.reason)
        }))
    }
}

impl Apply for LockAcquired {
    fn subject(&self) -> Subject {
        lease(self.id)
    }

    fn project(&self) -> Option<ProjectId> {
        Some(self.project)
    }

    fn run(&self) -> Option<RunId> {
        self.run
    }

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        tables.write(
            "insert into reservation (id, kind, project_id, agent_id, pattern, pattern_key,
                key_hash, exclusive, reason, fence, created_at, created_lease_us, expires_lease_us,
                run_id)
             values (?1, 'lock', ?2, ?3, ?4, ?4, ?5, 1, ?6, ?7, ?8, ?9, ?10, ?11)",
            params![
                self.id,
                self.project,
                self.agent,
                &self.name,
                key_hash(&self.name),
                &self.reason,
                place.seq,
                place.at,
                self.granted,
                self.expires,
                self.run,
            ],
            Rows::Exactly(1),
        )
    }

    fn redacted(&self) -> Option<Redacted> {
        let remnant = Self {
            reason: blank(&self.reason),
            ..self.clone()
        };
        Some(Redacted::to(remnant).from(Spot::LeaseReason, self.id, &self.reason))
    }
}

impl Apply for LeaseRenewed {
    fn subject(&self) -> Subject {
        lease(self.id)
    }

    fn project(&self) -> Option<ProjectId> {
        Some(self.project)
    }

    fn apply(&self, _place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        tables.write(
            "update reservation set expires_lease_us = ?2 where id = ?1 and ended_seq is null",
            params![self.id, self.expires],
            Rows::Exactly(1),
        )
    }

    fn redacted(&self) -> Option<Redacted> {
        None
    }
}

/// Ends a lease, which only one event can do (F15).
fn end(
    ended: &Ended,
    how: LeaseEnd,
    place: Place,
    tables: &mut Tables<'_>,
) -> Result<(), StoreError> {
    tables.write(
        "update reservation set ended_at = ?2, ended_seq = ?3, ended = ?4
         where id = ?1 and ended_seq is null",
        params![ended.id, place.at, place.seq, how.as_str()],
        Rows::Exactly(1),
    )
}

macro_rules! ends {
    ($($event:ident, $how:ident, $ended:tt, $parted:expr;)+) => {$(
        impl Apply for $event {
            fn subject(&self) -> Subject {
                lease(self.$ended.id)
            }

            fn project(&self) -> Option<ProjectId> {
                Some(self.$ended.project)
            }

            fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
                end(&self.$ended, LeaseEnd::$how, place, tables)
            }

            fn redacted(&self) -> Option<Redacted> {
                ($parted)(self)
            }
        }
    )+};
}

ends! {
    LeaseReleased, Released, 0, |_: &LeaseReleased| None;
    LeaseForced, Forced, ended, |forced| Some(forced_without_reason(forced));
    LeaseRetired, Retired, 0, |_: &LeaseRetired| None;
    LeaseExpired, Expired, 0, |_: &LeaseExpired| None;
}

fn forced_without_reason(forced: &LeaseForced) -> Redacted {
    Redacted::to(LeaseForced {
        reason: blank(&forced.reason),
        ..forced.clone()
    })
}

impl Apply for ReleaseRequested {
    fn subject(&self) -> Subject {
        request(self.id)
    }

    fn project(&self) -> Option<ProjectId> {
        Some(self.project)
    }

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        tables.write(
            "insert into release_request (id, project_id, reservation_id, requester_id, thread_id,
                reason, created_at, revision)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1)",
            params![
                self.id,
                self.project,
                self.reservation,
                self.requester,
                self.thread,
                &self.reason,
                place.at,
            ],
            Rows::Exactly(1),
        )
    }

    fn redacted(&self) -> Option<Redacted> {
        let remnant = Self {
            reason: blank(&self.reason),
            ..self.clone()
        };
        Some(Redacted::to(remnant).from(Spot::ReleaseReason, self.id, &self.reason))
    }
}

impl Apply for ReleaseAnswered {
    fn subject(&self) -> Subject {
        request(self.id)
    }

    fn project(&self) -> Option<ProjectId> {
        Some(self.project)
    }

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        tables.write(
            "update release_request set answer = ?2, eta_ms = ?3, answered_at = ?4,
                revision = revision + 1
             where id = ?1",
            params![self.id, self.answer.as_str(), self.eta_ms, place.at],
            Rows::Exactly(1),
        )
    }

    fn redacted(&self) -> Option<Redacted> {
        None
    }
}
