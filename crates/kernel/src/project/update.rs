//! Changes a project's settings.

use comity_domain::limits::{GRACE_US_MAX, LEASES_PER_AGENT_MAX};
use comity_domain::{GuardAway, GuardMode, ProjectId, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::{ProjectSettings, ProjectUpdated};
use super::table::{self, Label, Project, ProjectRef};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::error::{Error, Impossible};
use crate::reservation::table as leases;
use crate::tx::WriteTx;

/// Changes what is given and leaves the rest as it is.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateProject {
    /// The project's key or slug.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// What people call it.
    #[serde(default)]
    pub name: Option<Label>,
    /// Whether paths that differ in case only are one file.
    #[serde(default)]
    pub case_insensitive: Option<bool>,
    /// What the Git guard does about a conflict.
    #[serde(default)]
    pub guard_mode: Option<GuardMode>,
    /// What the Git guard does when it cannot ask the server.
    #[serde(default)]
    pub guard_away: Option<GuardAway>,
    /// How long a holder must be silent before any agent may force its lease.
    #[serde(default)]
    pub grace: Option<Span>,
    /// How many active leases one agent may have.
    #[serde(default)]
    pub leases_per_agent: Option<i64>,
    /// The revision you read; another one now is refused.
    #[serde(default)]
    pub expected_revision: Option<i64>,
}

/// The project as it is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UpdatedProject {
    /// The project.
    pub project: Project,
}

impl Command for UpdateProject {
    const NAME: &'static str = "update_project";
    const WHO: &'static [Party] = &[Party::Operator];
    type Answer = UpdatedProject;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<UpdatedProject, Stop> {
        let actor = tx.actor().clone();
        let before = table::resolve(tx, &actor, self.project.as_ref())?;
        check_revision(self.expected_revision, before.revision)?;
        let settings = self.merged_into(&before)?;
        if settings == settings_of(&before) {
            return Ok(UpdatedProject { project: before });
        }
        if settings.case_insensitive != before.case_insensitive {
            must_hold_nothing(tx, before.id)?;
        }
        tx.emit(ProjectUpdated {
            id: before.id,
            settings,
        })?;
        let project = table::by_id(tx, before.id)?
            .ok_or_else(|| Error::internal(Impossible("a project vanished as it was changed")))?;
        Ok(UpdatedProject { project })
    }
}

impl UpdateProject {
    fn merged_into(&self, before: &Project) -> Result<ProjectSettings, Error> {
        let mut settings = settings_of(before);
        if let Some(grace) = self.grace {
            if grace.micros() > GRACE_US_MAX {
                return Err(Error::invalid("grace", "must be at most 7 days"));
            }
            // Whole milliseconds, as every answer shows it.
            settings.grace_us = grace.micros() / 1_000 * 1_000;
        }
        if let Some(leases) = self.leases_per_agent {
            if !(1..=LEASES_PER_AGENT_MAX).contains(&leases) {
                let rule = format!("must be between 1 and {LEASES_PER_AGENT_MAX}");
                return Err(Error::invalid("leases_per_agent", rule));
            }
            settings.leases_per_agent = leases;
        }
        if let Some(name) = &self.name {
            settings.name = name.to_string();
        }
        settings.case_insensitive = self.case_insensitive.unwrap_or(settings.case_insensitive);
        settings.guard_mode = self.guard_mode.unwrap_or(settings.guard_mode);
        settings.guard_away = self.guard_away.unwrap_or(settings.guard_away);
        Ok(settings)
    }
}

/// Refuses a change that was made from an old reading.
pub(crate) fn check_revision(expected: Option<i64>, present: i64) -> Result<(), Error> {
    match expected {
        Some(expected) if expected != present => Err(Error::VersionConflict { expected, present }),
        _ => Ok(()),
    }
}

/// Refuses while leases are held: under the other rule two of them might overlap (F1).
fn must_hold_nothing(tx: &mut WriteTx<'_, '_>, project: ProjectId) -> Result<(), Error> {
    let held = leases::count_in(tx, project)?;
    if held == 0 {
        return Ok(());
    }
    let rule = format!("cannot change while leases are held; {held} are: release them first");
    Err(Error::invalid("case_insensitive", rule))
}

fn settings_of(project: &Project) -> ProjectSettings {
    ProjectSettings {
        name: project.name.clone(),
        case_insensitive: project.case_insensitive,
        guard_mode: project.guard_mode,
        guard_away: project.guard_away,
        grace_us: project.grace_ms * 1_000,
        leases_per_agent: project.leases_per_agent,
    }
}
