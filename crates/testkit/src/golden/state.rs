//! The part of the scenario that is state.

use comity_kernel::Actor;
use serde_json::json;

use super::{call, sweep};
use crate::Kit;

/// Keeps small and large values; they end in every way.
pub(super) fn state(kit: &Kit, red: &Actor, gray: &Actor) {
    let operator = &Actor::OPERATOR;
    let save = |who: &Actor, scope: Option<&str>, key: &str, value: serde_json::Value| {
        let request = json!({ "project": "web", "scope": scope, "key": key, "value": value });
        call(kit, who, "save_state", request);
    };
    let short = |key: &str| {
        let brief = json!({ "key": key, "value": null, "ttl": "1s" });
        call(kit, red, "save_state", brief);
    };
    save(
        red,
        None,
        "plan",
        json!({ "z": 0.1, "a": [1, null, "it's é"] }),
    );
    save(red, None, "plan", json!("é".repeat(3_000)));
    save(gray, Some("build/cache"), "a/b", json!(["x".repeat(5_000)]));
    save(operator, Some("build/cache"), "c", json!(-0.5));
    save(operator, Some("agent/gray"), "orders", json!(true));
    short("brief");
    sweep(kit);
    short("brief");
    let plan = json!({ "key": "plan", "expected_version": 2 });
    call(kit, red, "delete_state", plan);
    save(red, None, "plan", json!([]));
    let cache = json!({ "project": "web", "scope": "build/cache" });
    call(kit, operator, "clear_state", cache);
    save(gray, Some("build/cache"), "a/b", json!({}));
}
