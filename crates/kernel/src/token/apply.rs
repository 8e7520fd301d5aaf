//! Tokens: from event to rows.

use comity_domain::token::from_hex;
use comity_domain::{ProjectId, TokenId};

use super::event::{TokenCreated, TokenRevoked};
use crate::log::{Apply, Place, Subject, SubjectKind, Tables};
use crate::params;
use crate::redaction::Redacted;
use crate::store::{Rows, StoreError};

const fn subject(id: TokenId) -> Subject {
    Subject {
        kind: SubjectKind::Token,
        id: id.get(),
    }
}

impl Apply for TokenCreated {
    fn subject(&self) -> Subject {
        subject(self.id)
    }

    fn project(&self) -> Option<ProjectId> {
        self.project
    }

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        let sha256 = from_hex(&self.sha256).ok_or(StoreError::Shape("64 hex digits"))?;
        tables.write(
            "insert into token (id, role, project_id, agent_id, name, sha256, created_at, revision)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1)",
            params![
                self.id,
                self.role.as_str(),
                self.project,
                self.agent,
                &self.name,
                &sha256,
                place.at,
            ],
            Rows::Exactly(1),
        )
    }

    fn redacted(&self) -> Option<Redacted> {
        None
    }
}

impl Apply for TokenRevoked {
    fn subject(&self) -> Subject {
        subject(self.id)
    }

    fn project(&self) -> Option<ProjectId> {
        self.project
    }

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        tables.write(
            "update token set revoked_at = ?2, revision = revision + 1
             where id = ?1 and revoked_at is null",
            params![self.id, place.at],
            Rows::Exactly(1),
        )
    }

    fn redacted(&self) -> Option<Redacted> {
        None
    }
}
