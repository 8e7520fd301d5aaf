//! Lists tokens.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::table::{self, Token};
use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::page::{After, Limit, Page};
use crate::query::Query;
use crate::tx::Snapshot;

/// Lists tokens, revoked ones included, oldest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListTokens {
    /// How many at most.
    #[serde(default)]
    pub limit: Limit,
    /// The `next` of the page before.
    #[serde(default)]
    pub after: After,
}

impl Query for ListTokens {
    const NAME: &'static str = "list_tokens";
    const WHO: &'static [Party] = &[Party::Operator];
    type Answer = Page<Token>;

    fn run(&self, _actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Page<Token>, Error> {
        let items = table::page(snapshot, self.after.get(), self.limit.and_one())?;
        Ok(Page::cut(items, self.limit, |token| token.id.get()))
    }
}
