//! The part of the scenario that is consumers and the callers' own streams.

use comity_kernel::Actor;
use serde_json::json;

use super::{call, sweep};
use crate::Kit;

/// Appends to streams, and has consumers registered, taken over, moved, and forgotten.
pub(super) fn streams(kit: &Kit, red: &Actor) {
    let operator = &Actor::OPERATOR;
    let data = json!({ "z": 0.1, "a": [1, null, "é"], "it's": "two\nlines" });
    for (who, name, request) in [
        (
            red,
            "append_event",
            json!({ "stream": "deploys", "kind": "custom.begun", "payload": data, "expected_version": "none" }),
        ),
        (
            operator,
            "append_event",
            json!({ "project": "web", "stream": "deploys", "kind": "custom.deploy.done", "expected_version": 1 }),
        ),
        (
            operator,
            "register_consumer",
            json!({
                "name": "mirror", "since": 0,
                "filter": { "project": "web", "run": 1, "kinds": ["custom.*", "run_created"], "subject": "run:1", "actor": "operator" },
            }),
        ),
        (operator, "register_consumer", json!({ "name": "mirror" })),
        (
            operator,
            "reset_consumer",
            json!({ "name": "mirror", "to_seq": 1 }),
        ),
        (
            operator,
            "register_consumer",
            json!({ "project": "web", "name": "passing", "ttl": "2m" }),
        ),
    ] {
        call(kit, who, name, request);
    }
    kit.clock.advance_us(120_000_000);
    sweep(kit);
}
