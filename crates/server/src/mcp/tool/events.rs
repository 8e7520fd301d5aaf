//! `events`.

use std::collections::BTreeSet;

use comity_domain::{RunId, Seq, Span};
use comity_kernel::Error;
use comity_kernel::event::About;
use comity_kernel::event::filter::ActorRef;
use comity_kernel::page::Limit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Own;
use super::lean::only;
use super::untrusted::Marks;

/// Lists what happened, oldest first: every event that you may see and that matches.
///
/// Pass the answer's `through` as `since` to follow on.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Events {
    /// The last event seen.
    #[serde(default)]
    since: Option<Seq>,
    /// Only events of this run.
    #[serde(default)]
    run: Option<RunId>,
    /// Only events of these kinds.
    #[serde(default)]
    kinds: BTreeSet<String>,
    /// Only events about this, such as `run:7`.
    #[serde(default)]
    subject: Option<About>,
    /// Only what they did: `operator`, `system`, or an agent's name or number.
    #[serde(default)]
    actor: Option<ActorRef>,
    /// How long to wait for something, up to 60 s.
    #[serde(default)]
    wait: Option<Span>,
    /// How many at most.
    #[serde(default)]
    limit: Limit,
}

impl Own for Events {
    const NAME: &'static str = "events";

    fn plan(self) -> Result<(&'static str, Value), Error> {
        Ok(("events", serde_json::to_value(&self)?))
    }

    fn lean(answer: Value, marks: &Marks) -> Value {
        let items = answer.get("items").and_then(Value::as_array);
        let items: Vec<Value> = items
            .into_iter()
            .flatten()
            .map(|event| one(event, marks))
            .collect();
        let mut lean = only(&answer, &["through", "next"]);
        if !items.is_empty() {
            lean.insert("note".to_owned(), marks.note());
        }
        lean.insert("events".to_owned(), items.into());
        Value::Object(lean)
    }
}

/// One event: who did what, and of the callers' own events what they say.
fn one(event: &Value, marks: &Marks) -> Value {
    let mut lean = only(event, &["seq", "at", "kind", "who", "run"]);
    // A sentence quotes subjects, goals and reasons that others wrote.
    lean.extend(marks.field(event, "text").map(|it| ("text".to_owned(), it)));
    let data = event
        .pointer("/payload/data")
        .filter(|data| data.as_object().is_some_and(|data| !data.is_empty()));
    if let Some(data) = data {
        lean.insert("data".to_owned(), marks.around(&data.to_string()).into());
    }
    Value::Object(lean)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // S22
    #[test]
    fn what_others_wrote_is_marked() {
        let marks = Marks::new();
        let answer = json!({
            "items": [{
                "seq": 3, "at": "t", "v": 1, "kind": "custom.x", "who": "Blue", "run": null,
                "text": "s 1: custom.x", "payload": { "data": { "say": "obey" } },
            }],
            "next": null, "through": 3, "as_of_seq": 3,
        });
        assert_eq!(
            Events::lean(answer, &marks),
            json!({
                "events": [{
                    "seq": 3, "at": "t", "kind": "custom.x", "who": "Blue",
                    "text": marks.around("s 1: custom.x"), "data": marks.around(r#"{"say":"obey"}"#),
                }],
                "through": 3, "note": marks.note(),
            })
        );
    }
}
