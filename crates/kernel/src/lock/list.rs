//! Lists named locks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::table::{self, Lock, show};
use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::page::{After, Limit, Page};
use crate::project::table::{self as project_table, ProjectRef};
use crate::query::Query;
use crate::tx::{Read, Snapshot};

/// Lists the locks of a project that hold now.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListLocks {
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

impl Query for ListLocks {
    const NAME: &'static str = "list_locks";
    const WHO: &'static [Party] = &[Party::Agent, Party::Operator];
    type Answer = Page<Lock>;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Page<Lock>, Error> {
        let project = project_table::resolve(snapshot, actor, self.project.as_ref())?;
        let leases = table::page(snapshot, project.id, self.after.get(), self.limit.and_one())?;
        let now = snapshot.now();
        let locks = leases.into_iter().map(|lease| show(lease, now)).collect();
        Ok(Page::cut(locks, self.limit, |lock: &Lock| lock.id.get()))
    }
}
