//! Epochs: from event to rows.

use comity_domain::ProjectId;

use super::event::EpochBegun;
use crate::log::{Apply, Place, Subject, SubjectKind, Tables};
use crate::params;
use crate::redaction::Redacted;
use crate::store::{Rows, StoreError};

impl Apply for EpochBegun {
    fn subject(&self) -> Subject {
        Subject {
            kind: SubjectKind::Epoch,
            id: self.id.get(),
        }
    }

    fn project(&self) -> Option<ProjectId> {
        None
    }

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        tables.write(
            "insert into epoch (id, name, name_before, after_seq, lost_name, lost_seq, began_at,
                revision)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1)",
            params![
                place.seq,
                &self.epoch,
                &self.before,
                self.after,
                &self.lost_epoch,
                self.lost_through,
                place.at,
            ],
            Rows::Exactly(1),
        )?;
        // Whoever serves the database under its old name stops (L11).
        tables.write(
            "update log_head set epoch = ?1",
            params![&self.epoch],
            Rows::Exactly(1),
        )
    }

    fn redacted(&self) -> Option<Redacted> {
        None
    }
}
