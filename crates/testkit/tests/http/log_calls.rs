//! One request of each operation on the log.

use serde_json::{Value, json};

/// Returns one request of each operation on events, streams and consumers.
pub(crate) fn events_of_each() -> Vec<(&'static str, String, Value)> {
    let said = json!({ "project": "web", "kind": "custom.done", "payload": { "k": 1 } });
    let mirror = json!({ "name": "mirror", "filter": { "kinds": ["custom.*"] }, "since": 0 });
    let acked = json!({ "generation": 1, "seq": 1, "extra": { "k": 1 } });
    [
        ("append_event", "POST /api/streams/deploys", said),
        ("read_stream", "GET /api/streams/deploys?project=web", json!({})),
        ("register_consumer", "POST /api/consumers", mirror),
        ("list_consumers", "GET /api/consumers", json!({})),
        ("poll_consumer", "GET /api/consumers/mirror/poll?generation=1&wait=1ms", json!({})),
        ("ack_consumer", "POST /api/consumers/mirror/ack", acked),
        ("reset_consumer", "POST /api/consumers/mirror/reset", json!({ "to_seq": 0 })),
        (
            "events",
            "GET /api/events?since=1&kinds=run_created&kinds=custom.done&project=web&subject=stream:1&actor=operator&wait=1ms",
            json!({}),
        ),
    ]
    .map(|(name, line, body)| (name, line.to_owned(), body))
    .into()
}

/// The same of hooks: about the one with a dead letter that was there before the server.
pub(crate) fn hooks_of_each() -> Vec<(&'static str, String, Value)> {
    let none = || json!({});
    let retry = "POST /api/hooks/1/dead-letters/1/retry";
    [
        (
            "add_hook",
            "POST /api/hooks",
            json!({ "url": "http://192.0.2.1/" }),
        ),
        ("list_hooks", "GET /api/hooks", none()),
        ("dead_letters", "GET /api/hooks/1/dead-letters", none()),
        ("retry_dead_letter", retry, none()),
        ("remove_hook", "DELETE /api/hooks/1", none()),
    ]
    .map(|(name, line, body)| (name, line.to_owned(), body))
    .into()
}
