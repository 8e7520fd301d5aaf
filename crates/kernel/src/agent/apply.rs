//! Agents: from event to rows.

use comity_domain::{AgentId, ProjectId, Right};

use super::event::{AgentRegistered, AgentRetired, AgentUpdated, Profile};
use crate::log::{Apply, Place, Subject, SubjectKind, Tables};
use crate::params;
use crate::redaction::{Redacted, Spot, blank, blank_map, blank_option};
use crate::store::{Rows, StoreError};

const fn subject(id: AgentId) -> Subject {
    Subject {
        kind: SubjectKind::Agent,
        id: id.get(),
    }
}

impl Apply for AgentRegistered {
    fn subject(&self) -> Subject {
        subject(self.id)
    }

    fn project(&self) -> Option<ProjectId> {
        Some(self.project)
    }

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        let profile = &self.profile;
        tables.write(
            "insert into agent (id, project_id, name, name_folded, program, model, task, metadata,
                orchestrate, contact_policy, created_at, revision)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 1)",
            params![
                self.id,
                self.project,
                &*self.name,
                &self.name.folded(),
                &profile.program,
                &profile.model,
                &profile.task,
                &metadata(profile),
                profile.rights.contains(&Right::Orchestrate),
                profile.contact_policy.as_str(),
                place.at,
            ],
            Rows::Exactly(1),
        )?;
        add_capabilities(self.id, profile, tables)
    }

    fn redacted(&self) -> Option<Redacted> {
        let remnant = Self {
            profile: self.profile.redacted(),
            ..self.clone()
        };
        Some(of_profile(Redacted::to(remnant), self.id, &self.profile))
    }
}

impl Apply for AgentUpdated {
    fn subject(&self) -> Subject {
        subject(self.id)
    }

    fn project(&self) -> Option<ProjectId> {
        Some(self.project)
    }

    fn apply(&self, _place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        let profile = &self.profile;
        tables.write(
            "update agent set program = ?2, model = ?3, task = ?4, metadata = ?5, orchestrate = ?6,
                contact_policy = ?7, revision = revision + 1
             where id = ?1",
            params![
                self.id,
                &profile.program,
                &profile.model,
                &profile.task,
                &metadata(profile),
                profile.rights.contains(&Right::Orchestrate),
                profile.contact_policy.as_str(),
            ],
            Rows::Exactly(1),
        )?;
        tables.write(
            "delete from agent_capability where agent_id = ?1",
            params![self.id],
            Rows::Any,
        )?;
        add_capabilities(self.id, profile, tables)
    }

    fn redacted(&self) -> Option<Redacted> {
        let remnant = Self {
            profile: self.profile.redacted(),
            ..self.clone()
        };
        Some(of_profile(Redacted::to(remnant), self.id, &self.profile))
    }
}

impl Apply for AgentRetired {
    fn subject(&self) -> Subject {
        subject(self.id)
    }

    fn project(&self) -> Option<ProjectId> {
        Some(self.project)
    }

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        tables.write(
            "update agent set retired_at = ?2, revision = revision + 1
             where id = ?1 and retired_at is null",
            params![self.id, place.at],
            Rows::Exactly(1),
        )
    }

    fn redacted(&self) -> Option<Redacted> {
        Some(Redacted::to(Self {
            reason: blank_option(self.reason.as_ref()),
            ..self.clone()
        }))
    }
}

fn add_capabilities(
    agent: AgentId,
    profile: &Profile,
    tables: &mut Tables<'_>,
) -> Result<(), StoreError> {
    for capability in &profile.capabilities {
        tables.write(
            "insert into agent_capability (agent_id, capability) values (?1, ?2)",
            params![agent, capability],
            Rows::Exactly(1),
        )?;
    }
    Ok(())
}

fn metadata(profile: &Profile) -> String {
    serde_json::Value::Object(profile.metadata.clone()).to_string()
}

impl Profile {
    /// Takes out what it does and what else it says of itself.
    fn redacted(&self) -> Self {
        Self {
            task: blank(&self.task),
            metadata: blank_map(&self.metadata),
            ..self.clone()
        }
    }
}

fn of_profile(redacted: Redacted, id: AgentId, profile: &Profile) -> Redacted {
    let redacted = redacted.from(Spot::AgentTask, id, &profile.task);
    if profile.metadata.is_empty() {
        return redacted;
    }
    redacted.from(Spot::AgentMetadata, id, &metadata(profile))
}
