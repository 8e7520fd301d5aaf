//! `inbox`.

use comity_domain::{Importance, Span};
use comity_kernel::Error;
use comity_kernel::mail::Topic;
use comity_kernel::mail::inbox::{BoxRef, Order};
use comity_kernel::mail::table::Detail;
use comity_kernel::page::{After, Limit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Own;
use super::lean::messages;
use super::untrusted::Marks;

/// Shows what you got, unread first thing after `status`. Listing is not reading: `acknowledge` is.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Inbox {
    /// Only what you have not read.
    #[serde(default)]
    unread: bool,
    /// Only what waits for your acknowledgement.
    #[serde(default)]
    ack_pending: bool,
    /// Only what this agent sent, or `operator`.
    #[serde(default)]
    from: Option<BoxRef>,
    /// Only what has this topic.
    #[serde(default)]
    topic: Option<Topic>,
    /// Only what matters at least so much.
    #[serde(default)]
    importance: Option<Importance>,
    /// `newest` or `oldest` first.
    #[serde(default)]
    order: Order,
    /// `none`, `preview` or `full`.
    #[serde(default)]
    detail: Detail,
    /// Wait for something if there is nothing, up to `60s`.
    #[serde(default)]
    wait: Option<Span>,
    /// How many at most.
    #[serde(default)]
    limit: Limit,
    /// The `next` of the page before.
    #[serde(default)]
    after: After,
}

impl Own for Inbox {
    const NAME: &'static str = "inbox";

    fn plan(self) -> Result<(&'static str, Value), Error> {
        Ok(("inbox", serde_json::to_value(&self)?))
    }

    fn lean(answer: Value, marks: &Marks) -> Value {
        messages("messages", &answer, marks)
    }
}
