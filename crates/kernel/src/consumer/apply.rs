//! Consumers: from event to rows.

use comity_domain::{ConsumerId, ProjectId};

use super::event::{ConsumerExpired, ConsumerRegistered, ConsumerReset};
use crate::log::{Apply, Place, Subject, SubjectKind, Tables};
use crate::params;
use crate::store::{Rows, StoreError};

const fn subject(id: ConsumerId) -> Subject {
    Subject {
        kind: SubjectKind::Consumer,
        id: id.get(),
    }
}

impl Apply for ConsumerRegistered {
    fn subject(&self) -> Subject {
        subject(self.id)
    }

    fn project(&self) -> Option<ProjectId> {
        self.project
    }

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        let filter = serde_json::to_string(&self.filter);
        let filter = filter.map_err(|_| StoreError::Shape("a filter"))?;
        if self.generation == 1 {
            return tables.write(
                "insert into consumer (id, project_id, name, filter, ttl_us, generation, agent_id,
                    since, placed_seq, registered_at, registered_lease_us, revision)
                 values (?1, ?2, ?3, ?4, ?5, 1, ?6, ?7, ?8, ?9, ?10, 1)",
                params![
                    self.id,
                    self.project,
                    &self.name,
                    &filter,
                    self.ttl_us,
                    self.agent,
                    self.since.unwrap_or(place.seq),
                    place.seq,
                    place.at,
                    self.registered,
                ],
                Rows::Exactly(1),
            );
        }
        tables.write(
            "update consumer set filter = ?2, ttl_us = ?3, generation = ?4, agent_id = ?5,
                since = coalesce(?6, since),
                placed_seq = case when cast(?6 as bigint) is null then placed_seq else ?7 end,
                registered_at = ?8, registered_lease_us = ?9, ended_at = null,
                revision = revision + 1
             where id = ?1",
            params![
                self.id,
                &filter,
                self.ttl_us,
                self.generation,
                self.agent,
                self.since,
                place.seq,
                place.at,
                self.registered,
            ],
            Rows::Exactly(1),
        )
    }
}

impl Apply for ConsumerReset {
    fn subject(&self) -> Subject {
        subject(self.id)
    }

    fn project(&self) -> Option<ProjectId> {
        self.project
    }

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        tables.write(
            "update consumer set generation = ?2, since = ?3, placed_seq = ?4,
                revision = revision + 1
             where id = ?1",
            params![self.id, self.generation, self.since, place.seq],
            Rows::Exactly(1),
        )
    }
}

impl Apply for ConsumerExpired {
    fn subject(&self) -> Subject {
        subject(self.id)
    }

    fn project(&self) -> Option<ProjectId> {
        self.project
    }

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        tables.write(
            "update consumer set ended_at = ?2, revision = revision + 1 where id = ?1",
            params![self.id, place.at],
            Rows::Exactly(1),
        )
    }
}
