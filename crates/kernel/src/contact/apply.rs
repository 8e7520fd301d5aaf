//! Contacts: from event to rows.

use comity_domain::{ContactId, ProjectId};

use super::event::{ContactAnswered, ContactRequested};
use crate::log::{Apply, Place, Subject, SubjectKind, Tables};
use crate::params;
use crate::redaction::{Redacted, Spot, blank};
use crate::store::{Rows, StoreError};

const fn subject(id: ContactId) -> Subject {
    Subject {
        kind: SubjectKind::Contact,
        id: id.get(),
    }
}

impl Apply for ContactRequested {
    fn subject(&self) -> Subject {
        subject(self.id)
    }

    fn project(&self) -> Option<ProjectId> {
        Some(self.project)
    }

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        tables.write(
            "insert into contact (id, agent_id, sender_id, state, reason, created_at, revision)
             values (?1, ?2, ?3, 'requested', ?4, ?5, 1)
             on conflict (id) do update set state = 'requested', reason = excluded.reason,
                 until_at = null, until_lease_us = null, revision = contact.revision + 1",
            params![self.id, self.agent, self.sender, &self.reason, place.at],
            Rows::Exactly(1),
        )
    }

    fn redacted(&self) -> Option<Redacted> {
        let remnant = Self {
            reason: blank(&self.reason),
            ..self.clone()
        };
        Some(Redacted::to(remnant).from(Spot::ContactReason, self.id, &self.reason))
    }
}

impl Apply for ContactAnswered {
    fn subject(&self) -> Subject {
        subject(self.id)
    }

    fn project(&self) -> Option<ProjectId> {
        Some(self.project)
    }

    fn apply(&self, _place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        let state = if self.approved { "approved" } else { "refused" };
        tables.write(
            "update contact set state = ?2, until_at = ?3, until_lease_us = ?4,
                revision = revision + 1
             where id = ?1",
            params![self.id, state, self.until, self.until_lease],
            Rows::Exactly(1),
        )
    }

    fn redacted(&self) -> Option<Redacted> {
        None
    }
}
