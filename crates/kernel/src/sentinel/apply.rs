//! Sentinels: from event to rows.

use comity_domain::{ProjectId, SentinelId};

use super::event::{SentinelClaimed, SentinelReset};
use crate::log::{Apply, Place, Subject, SubjectKind, Tables};
use crate::params;
use crate::redaction::Redacted;
use crate::store::{Rows, StoreError};

const fn subject(id: SentinelId) -> Subject {
    Subject {
        kind: SubjectKind::Sentinel,
        id: id.get(),
    }
}

impl Apply for SentinelClaimed {
    fn subject(&self) -> Subject {
        subject(self.id)
    }

    fn project(&self) -> Option<ProjectId> {
        Some(self.project)
    }

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        tables.write(
            "insert into sentinel (id, project_id, name, scope, agent_id, claimed_at,
                claimed_lease_us, revision)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1)
             on conflict (id) do update set agent_id = excluded.agent_id,
                claimed_at = excluded.claimed_at, claimed_lease_us = excluded.claimed_lease_us,
                revision = sentinel.revision + 1",
            params![
                self.id,
                self.project,
                &self.name,
                &self.scope,
                self.agent,
                place.at,
                self.claimed,
            ],
            Rows::Exactly(1),
        )
    }

    fn redacted(&self) -> Option<Redacted> {
        None
    }
}

impl Apply for SentinelReset {
    fn subject(&self) -> Subject {
        subject(self.id)
    }

    fn project(&self) -> Option<ProjectId> {
        Some(self.project)
    }

    fn apply(&self, _place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        tables.write(
            "update sentinel set claimed_at = null, claimed_lease_us = null,
                revision = revision + 1
             where id = ?1",
            params![self.id],
            Rows::Exactly(1),
        )
    }

    fn redacted(&self) -> Option<Redacted> {
        None
    }
}
