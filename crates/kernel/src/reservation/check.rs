//! Asks whether files are free.

use comity_domain::{LeaseMode, LiteralPath, Pattern};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::conflict::{self, Conflict, Wanted};
use super::{files, held};
use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::project::table::{self as project_table, ProjectRef};
use crate::query::Query;
use crate::tx::Snapshot;

/// Asks what would be in the way of a lease now; it takes nothing and writes nothing.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckFiles {
    /// The project's key or slug; an agent's own unless given.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// Literal paths from the project's root.
    #[serde(default)]
    pub paths: Vec<LiteralPath>,
    /// Patterns, as for `reserve_files`.
    #[serde(default)]
    pub patterns: Vec<Pattern>,
    /// `exclusive` to write, `shared` to read undisturbed; `exclusive` unless given.
    #[serde(default)]
    pub mode: Option<LeaseMode>,
    /// Whether your own leases count too.
    #[serde(default)]
    pub include_own: bool,
}

/// What is in the way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Checked {
    /// Whether nothing is.
    pub free: bool,
    /// Every lease in the way.
    pub conflicts: Vec<Conflict>,
}

impl Query for CheckFiles {
    const NAME: &'static str = "check_files";
    const WHO: &'static [Party] = &[Party::Operator, Party::Agent];
    type Answer = Checked;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Checked, Error> {
        let project = project_table::resolve(snapshot, actor, self.project.as_ref())?;
        let named = files::some_named(&self.paths, &self.patterns, None)?;
        let patterns: Vec<_> = named
            .iter()
            .map(|pattern| files::compared(pattern, project.case_insensitive))
            .collect();
        let wanted = Wanted {
            project: project.id,
            holder: held::holder(actor).filter(|_| !self.include_own),
            patterns: &patterns,
            exclusive: self.mode.unwrap_or(LeaseMode::Exclusive).is_exclusive(),
        };
        let in_the_way = conflict::in_the_way(snapshot, &wanted)?;
        let leases = in_the_way.into_iter().map(|(lease, _)| lease).collect();
        let conflicts = conflict::show(snapshot, leases)?;
        Ok(Checked {
            free: conflicts.is_empty(),
            conflicts,
        })
    }
}
