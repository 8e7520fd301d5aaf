//! `thread`.

use comity_domain::MessageId;
use comity_kernel::Error;
use comity_kernel::page::{After, Limit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Own;
use super::lean::{each_marked, message, messages, only};
use super::untrusted::Marks;

/// Shows a conversation in full; without `id`, lists those you have a part in.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Thread {
    /// Any message of it.
    #[serde(default)]
    id: Option<MessageId>,
    /// `thread` shows all of it, `message` that one alone, `summary` who, how much and what is open.
    #[serde(default)]
    show: Show,
    /// How many at most.
    #[serde(default)]
    limit: Limit,
    /// The `next` of the page before.
    #[serde(default)]
    after: After,
}

/// How much of a thread.
#[derive(Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Show {
    /// All its messages.
    #[default]
    Thread,
    /// One message.
    Message,
    /// It in short.
    Summary,
}

impl Own for Thread {
    const NAME: &'static str = "thread";

    fn plan(self) -> Result<(&'static str, Value), Error> {
        let Some(id) = self.id else {
            return Ok((
                "threads",
                json!({ "limit": self.limit, "after": self.after }),
            ));
        };
        Ok(match self.show {
            Show::Thread => {
                let page = json!({ "id": id, "limit": self.limit, "after": self.after });
                ("thread", page)
            }
            Show::Message => ("get_message", json!({ "id": id })),
            Show::Summary => ("thread_summary", json!({ "id": id })),
        })
    }

    fn lean(answer: Value, marks: &Marks) -> Value {
        if let Some(shown) = answer.get("message") {
            let read_by = each_marked(answer.get("marks"), &["note"], marks);
            return json!({ "note": marks.note(), "message": message(shown, marks), "marks": read_by });
        }
        if let Some(last) = answer.get("last") {
            let names = ["thread_id", "participants", "messages", "open_acks"];
            let mut summary = only(&answer, &names);
            summary.insert("note".to_owned(), marks.note());
            summary.extend(
                marks
                    .field(&answer, "subject")
                    .map(|it| ("subject".to_owned(), it)),
            );
            summary.insert("last".to_owned(), message(last, marks));
            return Value::Object(summary);
        }
        let items = answer.get("items").and_then(Value::as_array);
        let lists_threads = items.is_some_and(|items| {
            items
                .first()
                .is_some_and(|item| item.get("last_message_id").is_some())
        });
        if !lists_threads {
            return messages("messages", &answer, marks);
        }
        let thread = |item: &Value| {
            let mut thread = only(item, &["id", "unread", "last_from", "last_at"]);
            thread.extend(
                marks
                    .field(item, "subject")
                    .map(|it| ("subject".to_owned(), it)),
            );
            Value::Object(thread)
        };
        let threads: Vec<Value> = items.into_iter().flatten().map(thread).collect();
        json!({ "note": marks.note(), "threads": threads, "next": answer.get("next") })
    }
}
