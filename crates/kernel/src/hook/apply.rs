//! Hooks: from event to rows.

use comity_domain::{HookId, ProjectId};

use super::event::{HookAdded, HookRemoved};
use crate::log::{Apply, Place, Subject, SubjectKind, Tables};
use crate::params;
use crate::store::{Rows, StoreError};

const fn subject(id: HookId) -> Subject {
    Subject {
        kind: SubjectKind::Hook,
        id: id.get(),
    }
}

impl Apply for HookAdded {
    fn subject(&self) -> Subject {
        subject(self.id)
    }

    /// None, whatever its filter: it is the operator's.
    fn project(&self) -> Option<ProjectId> {
        None
    }

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        let unwritable = |_| StoreError::Shape("a hook that can be written down");
        let filter = serde_json::to_string(&self.filter).map_err(unwritable)?;
        let command = self.command.as_ref().map(serde_json::to_string);
        let command = command.transpose().map_err(unwritable)?;
        tables.write(
            "insert into hook (id, filter, url, command, since_seq, created_at, revision)
             values (?1, ?2, ?3, ?4, ?5, ?6, 1)",
            params![
                self.id,
                &filter,
                self.url.as_deref(),
                command.as_deref(),
                self.since,
                place.at,
            ],
            Rows::Exactly(1),
        )
    }
}

impl Apply for HookRemoved {
    fn subject(&self) -> Subject {
        subject(self.id)
    }

    fn project(&self) -> Option<ProjectId> {
        None
    }

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        tables.write(
            "update hook set removed_at = ?2, revision = revision + 1
             where id = ?1 and removed_at is null",
            params![self.id, place.at],
            Rows::Exactly(1),
        )
    }
}
