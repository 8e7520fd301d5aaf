//! `search`.

use comity_domain::{MessageId, Timestamp};
use comity_kernel::Error;
use comity_kernel::page::{After, Limit};
use comity_kernel::store::search::Ranking;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Own;
use super::lean::messages;
use super::untrusted::Marks;

/// Finds messages you sent or got by their words.
///
/// Words, `"a phrase"`, `-without`, `begin*`, `from:Name`, `subject:word`; all must match.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Search {
    /// What to look for.
    query: String,
    /// Only messages of this thread.
    #[serde(default)]
    thread: Option<MessageId>,
    /// Only what was sent at this time or later.
    #[serde(default)]
    from_time: Option<Timestamp>,
    /// Only what was sent before this time.
    #[serde(default)]
    until_time: Option<Timestamp>,
    /// `rank`: the best first; `newest`: page by page.
    #[serde(default)]
    order: Ranking,
    /// How many at most.
    #[serde(default)]
    limit: Limit,
    /// The `next` of the page before.
    #[serde(default)]
    after: After,
}

impl Own for Search {
    const NAME: &'static str = "search";

    fn plan(self) -> Result<(&'static str, Value), Error> {
        Ok(("search", serde_json::to_value(&self)?))
    }

    fn lean(answer: Value, marks: &Marks) -> Value {
        messages("hits", &answer, marks)
    }
}
