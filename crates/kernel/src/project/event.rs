//! What happens to projects.

use comity_domain::{GuardAway, GuardMode, ProjectId, ProjectKey, Slug};
use serde::{Deserialize, Serialize};

/// What a project's operator may set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectSettings {
    /// What people call it.
    pub name: String,
    /// Whether paths that differ in case only are one file.
    pub case_insensitive: bool,
    /// What the Git guard does about a conflict.
    pub guard_mode: GuardMode,
    /// What the Git guard does when it cannot ask.
    pub guard_away: GuardAway,
    /// How long a holder must be silent before it may be forced.
    pub grace_us: i64,
    /// How many active leases one agent may have.
    pub leases_per_agent: i64,
}

/// A project was created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectCreated {
    /// Its number.
    pub id: ProjectId,
    /// What its callers call it.
    pub key: ProjectKey,
    /// Its short name.
    pub slug: Slug,
    /// Its settings.
    pub settings: ProjectSettings,
}

/// A project's settings were changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectUpdated {
    /// The project.
    pub id: ProjectId,
    /// All its settings, as they are now.
    pub settings: ProjectSettings,
}
