//! Lists runs.

use comity_domain::{RunId, RunState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::table::{self, Chosen, Run};
use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::page::{After, Limit, Page};
use crate::project::table::{self as project_table, ProjectRef};
use crate::query::Query;
use crate::tx::Snapshot;

/// Lists runs, the newest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListRuns {
    /// The project's key or slug; an agent's own unless given, all that may be seen otherwise.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// Only those in this state.
    #[serde(default)]
    pub state: Option<RunState>,
    /// Only the children of this run.
    #[serde(default)]
    pub parent: Option<RunId>,
    /// How many at most.
    #[serde(default)]
    pub limit: Limit,
    /// The `next` of the page before.
    #[serde(default)]
    pub after: After,
}

impl Query for ListRuns {
    const NAME: &'static str = "list_runs";
    const WHO: &'static [Party] = &[Party::Operator, Party::Agent, Party::Observer];
    type Answer = Page<Run>;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Page<Run>, Error> {
        let project = match (&self.project, actor.project()) {
            (None, None) => None,
            (named, _) => Some(project_table::resolve(snapshot, actor, named.as_ref())?.id),
        };
        let before = match self.after.get() {
            0 => i64::MAX,
            before => before,
        };
        let chosen = Chosen {
            project,
            state: self.state,
            parent: self.parent,
        };
        let runs = table::page(snapshot, chosen, before, self.limit.and_one())?;
        Ok(Page::cut(runs, self.limit, |run: &Run| run.id.get()))
    }
}
