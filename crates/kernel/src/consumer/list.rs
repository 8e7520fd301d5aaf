//! Lists consumers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::table::{self, Consumer};
use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::page::{After, Limit, Page};
use crate::project::ProjectRef;
use crate::query::Query;
use crate::tx::{Read as _, Snapshot};

/// Lists the consumers of a project, or for the operator all of them, with how far each is behind.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListConsumers {
    /// The project's key or slug; an agent's own, and all for the operator, unless given.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// How many at most.
    #[serde(default)]
    pub limit: Limit,
    /// The `next` of the page before.
    #[serde(default)]
    pub after: After,
}

impl Query for ListConsumers {
    const NAME: &'static str = "list_consumers";
    const WHO: &'static [Party] = &[Party::Orchestrator, Party::Operator];
    type Answer = Page<Consumer>;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Page<Consumer>, Error> {
        let project = table::scope(snapshot, actor, self.project.as_ref())?;
        let now = snapshot.now().lease;
        let limit = self.limit.and_one();
        let page = table::page(snapshot, project, self.after.get(), limit)?;
        let page = Page::cut(page, self.limit, |stored| stored.id.get());
        let alive = page.items.into_iter().filter(|stored| stored.is_alive(now));
        Ok(Page {
            items: alive
                .map(|stored| stored.show(snapshot))
                .collect::<Result<_, _>>()?,
            next: page.next,
        })
    }
}
