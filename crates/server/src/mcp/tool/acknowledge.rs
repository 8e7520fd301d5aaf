//! `acknowledge`.

use comity_domain::limits::TASK_BYTES_MAX;
use comity_domain::{MessageId, Prose};
use comity_kernel::Error;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Own;
use super::untrusted::Marks;

/// Marks messages as read and tells their senders so; with `read_only`, tells nobody.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Acknowledge {
    /// The messages' numbers.
    ids: Vec<MessageId>,
    /// What you say with it.
    #[serde(default)]
    note: Option<Prose<TASK_BYTES_MAX>>,
    /// Only mark them as read.
    #[serde(default)]
    read_only: bool,
}

impl Own for Acknowledge {
    const NAME: &'static str = "acknowledge";

    fn plan(self) -> Result<(&'static str, Value), Error> {
        match (self.read_only, &self.note) {
            (true, Some(_)) => Err(Error::invalid("note", "goes with an acknowledgement only")),
            (true, None) => Ok(("read_messages", json!({ "ids": self.ids }))),
            (false, note) => Ok(("acknowledge", json!({ "ids": self.ids, "note": note }))),
        }
    }

    fn lean(answer: Value, _marks: &Marks) -> Value {
        answer
    }
}
