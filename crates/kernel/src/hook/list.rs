//! Lists hooks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::table::{self, Hook};
use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::page::{After, Limit, Page};
use crate::query::Query;
use crate::tx::Snapshot;

/// Lists the hooks that are there, oldest first, with how far each has come.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListHooks {
    /// How many at most.
    #[serde(default)]
    pub limit: Limit,
    /// The `next` of the page before.
    #[serde(default)]
    pub after: After,
}

impl Query for ListHooks {
    const NAME: &'static str = "list_hooks";
    const WHO: &'static [Party] = &[Party::Operator];
    type Answer = Page<Hook>;

    fn run(&self, _actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Page<Hook>, Error> {
        let items = table::page(snapshot, self.after.get(), self.limit.and_one())?;
        Ok(Page::cut(items, self.limit, |hook| hook.id.get()))
    }
}
