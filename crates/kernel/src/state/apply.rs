//! State: from event to rows.

use comity_domain::{ProjectId, StateEntryId, StateScopeId};

use super::event::{Content, StateCleared, StateDeleted, StateExpired, StateSaved};
use crate::log::{Apply, Place, Subject, SubjectKind, Tables};
use crate::params;
use crate::redaction::{Key, MARK, Redacted, Spot};
use crate::store::{Rows, StoreError};

macro_rules! of_scope {
    () => {
        fn subject(&self) -> Subject {
            Subject {
                kind: SubjectKind::StateScope,
                id: self.id.get(),
            }
        }

        fn project(&self) -> Option<ProjectId> {
            Some(self.project)
        }
    };
}

impl Apply for StateSaved {
    of_scope!();

    fn largest_id(&self) -> i64 {
        self.id.get().max(self.entry.get())
    }

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        // Nothing takes the place of a scope that is there, so it begins empty and is then counted in.
        tables.write(
            "insert into state_scope (id, project_id, name, agent_id, keys, bytes, created_at,
                revision)
             select cast(?1 as bigint), cast(?2 as bigint), cast(?3 as text), cast(?4 as bigint), 0, 0,
                cast(?5 as bigint), 0
             where not exists (select 1 from state_scope where id = cast(?1 as bigint))",
            params![self.id, self.project, &self.scope, self.owner, place.at],
            Rows::Any,
        )?;
        tables.write(
            "update state_scope set
                keys = keys + 1 - (
                    select count(*) from state_entry where id = ?2 and ended is null),
                bytes = bytes + cast(?3 as bigint) - coalesce((
                    select bytes from state_entry where id = ?2), 0),
                revision = revision + 1
             where id = ?1",
            params![self.id, self.entry, self.bytes],
            Rows::Exactly(1),
        )?;
        if let Content::Sha256(sha256) = &self.content {
            tables.write(
                "insert into state_blob (seq, sha256) values (?1, ?2)",
                params![place.seq, sha256.bytes()],
                Rows::Exactly(1),
            )?;
        }
        self.keep(place, tables)
    }

    fn redacted(&self) -> Option<Redacted> {
        let remnant = Self {
            content: Content::Value(MARK.into()),
            ..self.clone()
        };
        let was = match &self.content {
            Content::Value(value) => value.to_string(),
            Content::Sha256(_) => Spot::LARGE.to_owned(),
        };
        let key = Key::Numbers(self.entry.get(), self.version);
        Some(Redacted::to(remnant).from(Spot::StateValue, key, &was))
    }
}

impl StateSaved {
    fn keep(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        let (value, sha256) = match &self.content {
            Content::Value(value) => (Some(value.to_string()), None),
            Content::Sha256(sha256) => (None, Some(sha256.bytes())),
        };
        if self.version == 1 {
            return tables.write(
                "insert into state_entry (id, scope_id, key, version, value, sha256, bytes,
                    agent_id, created_at, saved_at, saved_lease_us, expires_lease_us)
                 values (?1, ?2, ?3, 1, ?4, ?5, ?6, ?7, ?8, ?8, ?9, ?10)",
                params![
                    self.entry,
                    self.id,
                    &self.key,
                    value.as_ref(),
                    sha256,
                    self.bytes,
                    self.by,
                    place.at,
                    self.saved,
                    self.expires,
                ],
                Rows::Exactly(1),
            );
        }
        tables.write(
            "update state_entry set version = ?2, value = ?3, sha256 = ?4, bytes = ?5,
                agent_id = ?6, saved_at = ?7, saved_lease_us = ?8, expires_lease_us = ?9,
                ended = null
             where id = ?1 and version = cast(?2 as bigint) - 1",
            params![
                self.entry,
                self.version,
                value.as_ref(),
                sha256,
                self.bytes,
                self.by,
                place.at,
                self.saved,
                self.expires,
            ],
            Rows::Exactly(1),
        )
    }
}

impl Apply for StateDeleted {
    of_scope!();

    fn apply(&self, _place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        end(tables, self.id, self.ended.entry, "deleted")
    }

    fn redacted(&self) -> Option<Redacted> {
        None
    }
}

impl Apply for StateExpired {
    of_scope!();

    fn apply(&self, _place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        end(tables, self.id, self.ended.entry, "expired")
    }

    fn redacted(&self) -> Option<Redacted> {
        None
    }
}

impl Apply for StateCleared {
    of_scope!();

    fn apply(&self, _place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        let ended = u64::try_from(self.keys.len()).unwrap_or(u64::MAX);
        tables.write(
            "update state_entry set ended = 'cleared', value = null, sha256 = null, bytes = 0,
                expires_lease_us = null
             where scope_id = ?1 and ended is null",
            params![self.id],
            Rows::Exactly(ended),
        )?;
        tables.write(
            "update state_scope set keys = 0, bytes = 0, revision = revision + 1 where id = ?1",
            params![self.id],
            Rows::Exactly(1),
        )
    }

    fn redacted(&self) -> Option<Redacted> {
        None
    }
}

fn end(
    tables: &mut Tables<'_>,
    scope: StateScopeId,
    entry: StateEntryId,
    how: &str,
) -> Result<(), StoreError> {
    tables.write(
        "update state_scope set keys = keys - 1, revision = revision + 1,
            bytes = bytes - (select bytes from state_entry where id = ?2)
         where id = ?1",
        params![scope, entry],
        Rows::Exactly(1),
    )?;
    tables.write(
        "update state_entry set ended = ?2, value = null, sha256 = null, bytes = 0,
            expires_lease_us = null
         where id = ?1 and ended is null",
        params![entry, how],
        Rows::Exactly(1),
    )
}
