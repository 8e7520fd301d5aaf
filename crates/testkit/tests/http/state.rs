//! State over HTTP: what a path may name, and how large a value may be.

use comity_domain::limits::{STATE_REQUEST_BYTES_MAX, STATE_VALUE_BYTES_MAX};
use comity_testkit::both_engines;
use comity_testkit::served::Call;
use serde_json::{Value, json};

use crate::town::Town;

fn put(town: &Town, path: &str, value: &Value) -> comity_testkit::served::Answer {
    let call = Call::new("PUT", path).json(&json!({ "value": value }));
    town.call(call, &town.blue.token)
}

both_engines! {
    // S10 S6 S7: a slash is part of a name, and nothing leads out of a scope
    fn a_path_names_what_it_says(engine) {
        let town = Town::new(engine);
        let saved = put(&town, "/api/state/agent%2FBlue/a%2Fb%20%C3%A9", &json!([1]));
        assert_eq!(saved.status, 201, "{}", saved.text());
        assert_eq!(put(&town, "/api/state/agent%2Fblue/a%2Fb%20%C3%A9", &json!([2])).status, 200);
        let loaded = town.served.get("/api/state/agent%2FBlue/a%2Fb%20%C3%A9", &town.blue.token).json();
        assert_eq!((&loaded["value"], &loaded["state"]["key"], &loaded["state"]["version"]), (&json!([2]), &json!("a/b é"), &json!(2)));
        for (path, field) in [
            ("/api/state/s/..", "key"), ("/api/state/s/%2E%2E", "key"), ("/api/state/s/.", "key"),
            ("/api/state/s/a%2F..%2Fb", "key"), ("/api/state/s/%2Fa", "key"), ("/api/state/s/a%2F", "key"),
            ("/api/state/s/a%00b", "key"), ("/api/state/s/%20", "key"), ("/api/state/s/a%E2%80%AEb", "key"),
            ("/api/state/../k", "scope"), ("/api/state//k", "scope"), ("/api/state/agent%2F/k", "scope"), ("/api/state/agent/k", "scope"),
            ("/api/state/Agent%2FBlue/k", "scope"), ("/api/state/a%2F..%2Fagent%2FRed/k", "scope"),
        ] {
            let answer = put(&town, path, &json!(1));
            assert_eq!(answer.refusal(), (422, "invalid".to_owned()), "{path}: {}", answer.text());
            assert_eq!(answer.json()["field"], field, "{path}");
        }
        assert_eq!(put(&town, "/api/state/s/%FF", &json!(1)).refusal().0, 400);
        for path in ["/api/state/s/", "/api/state/agent/Blue/k"] {
            assert_eq!(put(&town, path, &json!(1)).refusal(), (404, "not_found".to_owned()), "{path}");
        }
        let list = town.served.get("/api/state/s", &town.blue.token).json();
        assert_eq!(list["items"], json!([]));
        let bad = Call::new("PUT", "/api/state/s/k").body(br#"{"value":1,"value":2}"#);
        assert_eq!(town.call(bad, &town.blue.token).refusal(), (400, "not_json".to_owned()));
    }

    // S1: the largest value fits with whatever is around it, and the body has its own bound
    fn the_largest_value_fits(engine) {
        let town = Town::new(engine);
        let value = json!("x".repeat(STATE_VALUE_BYTES_MAX - 2));
        let saved = put(&town, "/api/state/s/k", &value);
        assert_eq!(saved.status, 201, "{}", saved.text());
        let loaded = town.served.get("/api/state/s/k", &town.blue.token).json();
        assert!(loaded["value"] == value, "another value");
        let large = json!("x".repeat(STATE_VALUE_BYTES_MAX - 1));
        assert_eq!(put(&town, "/api/state/s/k", &large).refusal(), (422, "invalid".to_owned()));
        let huge = json!("x".repeat(STATE_REQUEST_BYTES_MAX));
        assert_eq!(put(&town, "/api/state/s/k", &huge).refusal(), (413, "too_large".to_owned()));
        town.must_be_well();
    }
}
