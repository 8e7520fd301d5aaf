//! Projects: from event to rows.

use comity_domain::ProjectId;

use super::event::{ProjectCreated, ProjectSettings, ProjectUpdated};
use crate::log::{Apply, Place, Subject, SubjectKind, Tables};
use crate::params;
use crate::redaction::{Redacted, Spot, blank};
use crate::store::{Rows, StoreError};

const fn subject(id: ProjectId) -> Subject {
    Subject {
        kind: SubjectKind::Project,
        id: id.get(),
    }
}

impl Apply for ProjectCreated {
    fn subject(&self) -> Subject {
        subject(self.id)
    }

    fn project(&self) -> Option<ProjectId> {
        Some(self.id)
    }

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        let settings = &self.settings;
        tables.write(
            "insert into project (id, key, slug, name, case_insensitive, guard_mode, guard_away,
                grace_us, leases_per_agent, created_at, revision)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 1)",
            params![
                self.id,
                &*self.key,
                &*self.slug,
                &settings.name,
                settings.case_insensitive,
                settings.guard_mode.as_str(),
                settings.guard_away.as_str(),
                settings.grace_us,
                settings.leases_per_agent,
                place.at,
            ],
            Rows::Exactly(1),
        )
    }

    fn redacted(&self) -> Option<Redacted> {
        let remnant = Self {
            settings: self.settings.redacted(),
            ..self.clone()
        };
        let name = &self.settings.name;
        Some(Redacted::to(remnant).from(Spot::ProjectName, self.id, name))
    }
}

impl Apply for ProjectUpdated {
    fn subject(&self) -> Subject {
        subject(self.id)
    }

    fn project(&self) -> Option<ProjectId> {
        Some(self.id)
    }

    fn apply(&self, _place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        let settings = &self.settings;
        tables.write(
            "update project set name = ?2, case_insensitive = ?3, guard_mode = ?4, guard_away = ?5,
                grace_us = ?6, leases_per_agent = ?7, revision = revision + 1
             where id = ?1",
            params![
                self.id,
                &settings.name,
                settings.case_insensitive,
                settings.guard_mode.as_str(),
                settings.guard_away.as_str(),
                settings.grace_us,
                settings.leases_per_agent,
            ],
            Rows::Exactly(1),
        )
    }

    fn redacted(&self) -> Option<Redacted> {
        let remnant = Self {
            settings: self.settings.redacted(),
            ..self.clone()
        };
        let name = &self.settings.name;
        Some(Redacted::to(remnant).from(Spot::ProjectName, self.id, name))
    }
}

impl ProjectSettings {
    /// Takes the name out.
    fn redacted(&self) -> Self {
        Self {
            name: blank(&self.name),
            ..self.clone()
        }
    }
}
