//! Streams: from event to rows.

use comity_domain::ProjectId;

use super::event::CustomAppended;
use crate::log::{Apply, Place, Subject, SubjectKind, Tables};
use crate::params;
use crate::store::{Rows, StoreError};

impl Apply for CustomAppended {
    fn subject(&self) -> Subject {
        Subject {
            kind: SubjectKind::Stream,
            id: self.id.get(),
        }
    }

    fn project(&self) -> Option<ProjectId> {
        Some(self.project)
    }

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        if self.version == 1 {
            tables.write(
                "insert into stream (id, project_id, name, version, created_at, revision)
                 values (?1, ?2, ?3, 1, ?4, 1)",
                params![self.id, self.project, &self.stream, place.at],
                Rows::Exactly(1),
            )?;
        } else {
            tables.write(
                "update stream set version = version + 1, revision = revision + 1
                 where id = ?1 and version + 1 = ?2",
                params![self.id, self.version],
                Rows::Exactly(1),
            )?;
        }
        tables.write(
            "insert into stream_event (stream_id, version, seq) values (?1, ?2, ?3)",
            params![self.id, self.version, place.seq],
            Rows::Exactly(1),
        )
    }
}
