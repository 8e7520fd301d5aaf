//! Redactions: from event to rows.

use comity_domain::ProjectId;

use super::event::EventRedacted;
use super::spot::Redacted;
use crate::log::{Apply, Place, Subject, SubjectKind, Tables};
use crate::params;
use crate::store::{Rows, StoreError};

impl Apply for EventRedacted {
    fn subject(&self) -> Subject {
        Subject {
            kind: SubjectKind::Redaction,
            id: self.id.get(),
        }
    }

    /// Its number is that of an event, not a new one.
    fn largest_id(&self) -> i64 {
        0
    }

    fn project(&self) -> Option<ProjectId> {
        self.project
    }

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        tables.write(
            "insert into redaction (id, kind, subject_type, subject_id, reason, remnant,
                redacted_seq, redacted_at, revision)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 1)",
            params![
                self.id,
                &self.kind,
                self.about.kind.as_str(),
                self.about.id,
                &self.reason,
                &self.remnant,
                place.seq,
                place.at,
            ],
            Rows::Exactly(1),
        )?;
        tables.write(
            "update event set payload = ?2 where seq = ?1",
            params![self.id, &self.remnant],
            Rows::Exactly(1),
        )?;
        // Without its words the event names no bytes; those of messages stay named, by their number.
        tables.write(
            "delete from state_blob where seq = ?1",
            params![self.id],
            Rows::Any,
        )?;
        self.blanked
            .iter()
            .try_for_each(|blanked| blanked.write(tables))
    }

    /// The words of a redaction are the operator's own, who was told to keep secrets out of them.
    fn redacted(&self) -> Option<Redacted> {
        None
    }
}
