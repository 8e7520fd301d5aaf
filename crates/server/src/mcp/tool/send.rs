//! `send_message`.

use comity_domain::{Address, Importance, MessageId};
use comity_kernel::Error;
use comity_kernel::mail::{Body, Subject, Topic};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Own;
use super::lean::only;
use super::untrusted::Marks;

/// Sends a message to other agents, answers one (`reply_to`), or passes one on (`forward`).
///
/// Recipients are names of this project, `name@project`, `operator` for the person, or `*` for
/// everybody.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SendMessage {
    /// Whom it is for; an answer goes to the sender unless given.
    #[serde(default)]
    to: Vec<Address>,
    /// Who gets it for their information.
    #[serde(default)]
    cc: Vec<Address>,
    /// One line; not needed to answer or forward.
    #[serde(default)]
    subject: Option<Subject>,
    /// Markdown; with `forward`, your own word before it.
    #[serde(default)]
    body: Option<Body>,
    /// `low`, `normal`, `high` or `urgent`.
    #[serde(default)]
    importance: Option<Importance>,
    /// Ask the recipients to acknowledge it.
    #[serde(default)]
    ack_required: bool,
    /// The message you answer.
    #[serde(default)]
    reply_to: Option<MessageId>,
    /// The message you pass on.
    #[serde(default)]
    forward: Option<MessageId>,
    /// Your own key for what belongs together.
    #[serde(default)]
    topic: Option<Topic>,
}

impl Own for SendMessage {
    const NAME: &'static str = "send_message";

    fn plan(self) -> Result<(&'static str, Value), Error> {
        if let Some(id) = self.forward {
            return Ok((
                "forward",
                json!({
                    "id": id, "to": self.to, "cc": self.cc, "note": self.body,
                    "importance": self.importance, "ack_required": self.ack_required,
                }),
            ));
        }
        let body = self
            .body
            .ok_or_else(|| Error::invalid("body", "is missing"))?;
        match (self.reply_to, &self.subject) {
            (Some(id), subject) if self.to.is_empty() && self.topic.is_none() => Ok((
                "reply",
                json!({
                    "id": id, "body": body, "subject": subject, "cc": self.cc,
                    "importance": self.importance, "ack_required": self.ack_required,
                }),
            )),
            (_, None) => Err(Error::invalid("subject", "is missing")),
            (reply_to, Some(subject)) => Ok((
                "send_message",
                json!({
                    "to": self.to, "cc": self.cc, "subject": subject, "body": body,
                    "importance": self.importance, "ack_required": self.ack_required,
                    "reply_to": reply_to, "topic": self.topic,
                }),
            )),
        }
    }

    fn lean(answer: Value, _marks: &Marks) -> Value {
        let message = answer.get("message").unwrap_or(&Value::Null);
        let mut lean = only(message, &["id", "thread_id", "to", "cc"]);
        lean.extend(only(&answer, &["skipped"]));
        Value::Object(lean)
    }
}
