//! Lists the scopes that hold something.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::table::{self, Scope};
use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::page::{After, Limit, Page};
use crate::project::table::{self as project_table, ProjectRef};
use crate::query::Query;
use crate::reservation::held;
use crate::tx::Snapshot;

/// Lists the scopes that hold something: the shared ones and your own, for the operator all.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListScopes {
    /// The project's key or slug; an agent's own unless given.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// How many at most.
    #[serde(default)]
    pub limit: Limit,
    /// The `next` of the page before.
    #[serde(default)]
    pub after: After,
}

impl Query for ListScopes {
    const NAME: &'static str = "list_scopes";
    const WHO: &'static [Party] = &[Party::Itself, Party::Operator];
    type Answer = Page<Scope>;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Page<Scope>, Error> {
        let project = project_table::resolve(snapshot, actor, self.project.as_ref())?;
        let (seen_by, limit) = (held::holder(actor), self.limit.and_one());
        let after = table::scope_before(snapshot, project.id, seen_by, self.after)?;
        let scopes = table::scopes(snapshot, project.id, seen_by, &after, limit)?;
        Ok(Page::cut(scopes, self.limit, |scope: &Scope| {
            scope.id.get()
        }))
    }
}
