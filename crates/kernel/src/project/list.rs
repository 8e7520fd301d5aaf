//! Lists projects.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::table::{self, Project};
use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::page::{After, Limit, Page};
use crate::query::Query;
use crate::tx::Snapshot;

/// Lists the projects the caller may see, oldest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListProjects {
    /// How many at most.
    #[serde(default)]
    pub limit: Limit,
    /// The `next` of the page before.
    #[serde(default)]
    pub after: After,
}

impl Query for ListProjects {
    const NAME: &'static str = "list_projects";
    const WHO: &'static [Party] = &[Party::Operator, Party::Observer];
    type Answer = Page<Project>;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Page<Project>, Error> {
        if let Some(own) = actor.project() {
            let items = table::by_id(snapshot, own)?.into_iter().collect();
            return Ok(Page { items, next: None });
        }
        let items = table::page(snapshot, self.after.get(), self.limit.and_one())?;
        Ok(Page::cut(items, self.limit, |project| project.id.get()))
    }
}
