//! Good requests about events, streams and consumers, and what they must refuse.

use comity_kernel::operation::Operation;
use serde_json::{Value, json};

use super::samples::{BLUE, Subject};

/// A good request with every field it has: of Blue's project are a stream with one event, and a
/// consumer.
pub(super) fn event_sample(operation: &Operation, subject: &Subject) -> Option<Value> {
    let request = match operation.name {
        "events" => json!({
            "since": 0, "run": 1, "kinds": ["run_created"], "subject": "run:1",
            "actor": subject.agent, "wait": "10ms", "limit": 5, "after": "0",
        }),
        "append_event" => json!({
            "stream": "canary-stream", "kind": "custom.canary", "payload": { "k": 1 },
            "expected_version": 1,
        }),
        "read_stream" => json!({ "stream": "canary-stream", "limit": 5, "after": "0" }),
        "register_consumer" => json!({
            "name": "canary-new", "filter": { "kinds": ["run_created"] }, "since": 0,
            "durable": false, "ttl": "5m",
        }),
        "poll_consumer" => json!({
            "name": "canary-reader", "generation": 1, "limit": 5, "wait": "10ms",
        }),
        "ack_consumer" => json!({
            "name": "canary-reader", "generation": 1, "seq": 1, "extra": { "k": 1 },
        }),
        "reset_consumer" => json!({ "name": "canary-reader", "to_seq": 1 }),
        "list_consumers" => json!({ "limit": 5, "after": "0" }),
        _ => return None,
    };
    Some(subject.within(request))
}

/// Values that such a field must refuse.
pub(super) fn wrong_for_events(operation: &Operation, field: &str) -> Option<Vec<Value>> {
    if event_sample(operation, &BLUE).is_none() {
        return wrong_for_hooks(operation, field);
    }
    let number = || vec![json!("1"), json!(1.5), json!(true), json!(1e30)];
    let name = || {
        let texts = ["", "a/b", "..", "a b", "a\0", "é", "-a"].map(Value::from);
        let long = json!("x".repeat(129));
        texts
            .into_iter()
            .chain([long, json!(1), json!([])])
            .collect()
    };
    Some(match (operation.name, field) {
        (_, "name" | "stream") => name(),
        (_, "kind") => [
            name(),
            vec![json!("run_created"), json!("custom."), json!("custom.A")],
        ]
        .concat(),
        (_, "kinds") => vec![
            json!("run_created"),
            json!([1]),
            json!(["run_create"]),
            json!(["custom.A"]),
        ],
        (_, "subject") => vec![
            json!("run"),
            json!("rum:1"),
            json!(1),
            json!({ "type": "run" }),
            json!([]),
        ],
        (_, "actor") => vec![
            json!(""),
            json!("a\0"),
            json!("agent:x"),
            json!(1),
            json!([]),
        ],
        (_, "since" | "to_seq" | "seq") => {
            let ahead = (operation.name != "events").then_some(json!(i64::MAX));
            number()
                .into_iter()
                .chain([json!(-1)])
                .chain(ahead)
                .collect()
        }
        (_, "generation") => number(),
        (_, "payload" | "extra") => vec![json!([]), json!("x"), json!({ "x": "x".repeat(65_536) })],
        (_, "expected_version") => vec![json!(-1), json!("1"), json!(1.5), json!("exact")],
        (_, "filter") => vec![json!([]), json!("x"), json!({ "kind": 1 })],
        (_, "durable") => vec![json!("true"), json!(1)],
        (_, "ttl") => vec![
            json!("5"),
            json!("-5m"),
            json!("1m"),
            json!("31d"),
            json!(5),
        ],
        _ => return None,
    })
}

/// Returns values that a field of hooks and redactions must refuse.
fn wrong_for_hooks(operation: &Operation, field: &str) -> Option<Vec<Value>> {
    Some(match (operation.name, field) {
        ("add_hook", "filter") => vec![json!([]), json!("x"), json!({ "kind": 1 })],
        ("add_hook", "since") => vec![json!(-1), json!(i64::MAX), json!("1"), json!(1.5)],
        ("add_hook", "url") => {
            let urls = [
                "",
                "x",
                "ftp://a.example/",
                "http://",
                "http://u:p@a.example/",
                "http://a\0",
            ];
            urls.map(Value::from)
                .into_iter()
                .chain([json!(1), json!([])])
                .collect()
        }
        ("retry_dead_letter" | "redact", "seq") => {
            vec![json!("1"), json!(1.5), json!(true), json!(1e30)]
        }
        ("dead_letters" | "retry_dead_letter", "hook") => {
            vec![json!(0), json!(-1), json!("1"), json!(1.5), json!(1e30)]
        }
        _ => return None,
    })
}
