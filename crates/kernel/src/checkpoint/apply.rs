//! Checkpoints: from event to rows.

use comity_domain::ProjectId;
use comity_domain::token::from_hex;

use super::event::LogPruned;
use crate::log::{Apply, Place, Subject, SubjectKind, Tables};
use crate::params;
use crate::redaction::Redacted;
use crate::store::{Rows, StoreError};

impl Apply for LogPruned {
    fn subject(&self) -> Subject {
        Subject {
            kind: SubjectKind::Checkpoint,
            id: self.through.get(),
        }
    }

    /// Its number is that of an event, not a new one.
    fn largest_id(&self) -> i64 {
        0
    }

    fn project(&self) -> Option<ProjectId> {
        None
    }

    /// The events themselves stay: whoever replays a log keeps the whole of it.
    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        let hash: [u8; 32] = from_hex(&self.hash).ok_or(StoreError::Shape("a hash"))?;
        tables.write(
            "insert into checkpoint (id, hash, state_hash, schema, pruned_seq, pruned_at, revision)
             values (?1, ?2, ?3, ?4, ?5, ?6, 1)",
            params![
                self.through,
                &hash,
                &self.state_hash,
                self.schema,
                place.seq,
                place.at,
            ],
            Rows::Exactly(1),
        )
    }

    fn redacted(&self) -> Option<Redacted> {
        None
    }
}
