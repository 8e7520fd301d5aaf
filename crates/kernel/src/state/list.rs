//! Lists what a scope holds.

use comity_domain::limits::STATE_KEY_BYTES_MAX;
use comity_domain::{Line, ScopeName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::table::{self, State};
use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::page::{After, Limit, Page};
use crate::project::table::{self as project_table, ProjectRef};
use crate::query::Query;
use crate::tx::Snapshot;

/// What keys begin with.
pub type Prefix = Line<STATE_KEY_BYTES_MAX>;

/// Lists what a scope holds, by key and without the values.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListState {
    /// The project's key or slug; an agent's own unless given.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// Where; an agent's own scope unless given.
    #[serde(default)]
    pub scope: Option<ScopeName>,
    /// Only keys that begin so.
    #[serde(default)]
    pub prefix: Option<Prefix>,
    /// How many at most.
    #[serde(default)]
    pub limit: Limit,
    /// The `next` of the page before.
    #[serde(default)]
    pub after: After,
}

impl Query for ListState {
    const NAME: &'static str = "list_state";
    const WHO: &'static [Party] = &[Party::Itself, Party::Operator];
    type Answer = Page<State>;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Page<State>, Error> {
        let project = project_table::resolve(snapshot, actor, self.project.as_ref())?;
        let place = table::locate(snapshot, actor, project.id, self.scope.as_ref())?;
        let prefix = self.prefix.as_deref().unwrap_or_default();
        let after = table::key_before(snapshot, &place, self.after)?;
        let states = table::page(snapshot, &place, prefix, &after, self.limit.and_one())?;
        Ok(Page::cut(states, self.limit, |state: &State| {
            state.id.get()
        }))
    }
}
