//! Creates a project, or returns the one that has the key.

use comity_domain::limits::{LABEL_BYTES_MAX, LEASES_PER_AGENT_DEFAULT};
use comity_domain::{GuardAway, GuardMode, Line, ProjectKey, Slug};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::{ProjectCreated, ProjectSettings};
use super::table::{self, Project};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::error::{Error, Impossible};
use crate::tx::{Read, WriteTx};

/// Creates the project with this key unless it exists.
///
/// The same key is always the same project; different keys are never merged, whatever their slugs
/// look like.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnsureProject {
    /// What you call the project, usually its directory with links, `.` and `..` resolved.
    pub key: ProjectKey,
    /// What people call it; the slug unless given.
    #[serde(default)]
    pub name: Option<Line<LABEL_BYTES_MAX>>,
}

/// The project, and whether it is new.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EnsuredProject {
    /// The project.
    pub project: Project,
    /// Whether this call created it.
    pub created: bool,
}

impl Command for EnsureProject {
    const NAME: &'static str = "ensure_project";
    const WHO: &'static [Party] = &[Party::Operator];
    type Answer = EnsuredProject;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<EnsuredProject, Stop> {
        if let Some(project) = table::by_key(tx, &self.key)? {
            return Ok(EnsuredProject {
                project,
                created: false,
            });
        }
        let id = table::next_id(tx)?;
        let slug = free_slug(tx, &self.key.slug())?;
        let name = match &self.name {
            Some(name) => name.to_string(),
            None => slug.to_string(),
        };
        tx.emit(ProjectCreated {
            id,
            key: self.key.clone(),
            slug,
            settings: ProjectSettings {
                name,
                case_insensitive: false,
                guard_mode: GuardMode::Block,
                guard_away: GuardAway::Warn,
                grace_us: tx.memory().lease_grace_us,
                leases_per_agent: LEASES_PER_AGENT_DEFAULT,
            },
        })?;
        let project = table::by_id(tx, id)?
            .ok_or_else(|| Error::internal(Impossible("a project vanished as it was made")))?;
        Ok(EnsuredProject {
            project,
            created: true,
        })
    }
}

fn free_slug(tx: &mut impl Read, wanted: &Slug) -> Result<Slug, Error> {
    if !table::slug_is_taken(tx, wanted)? {
        return Ok(wanted.clone());
    }
    for n in 2.. {
        let slug = wanted.numbered(n);
        if !table::slug_is_taken(tx, &slug)? {
            return Ok(slug);
        }
    }
    Err(Error::internal(Impossible("there are no numbers left")))
}
