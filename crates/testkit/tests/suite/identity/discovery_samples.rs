//! The same for discoveries: 1 is Blue's and has a score, and there is an interest profile.

use comity_kernel::operation::Operation;
use serde_json::{Value, json};

use super::samples::{Subject, no_line, no_prose};

/// A good request of an operation on discoveries.
pub(super) fn discovery_sample(operation: &Operation, subject: &Subject) -> Option<Value> {
    let about = |request: Value| subject.within(request);
    Some(match operation.name {
        "submit_discovery" => about(json!({
            "source": "canary feed", "source_id": "new", "title": "t", "summary": "s",
            "url": "https://example.org", "embedding": [1, 0.5], "model": "canary-1",
            "score": 0.5, "dedup_threshold": 0.99,
        })),
        "list_discoveries" => about(json!({
            "state": "scored", "tier": "high", "source": "canary feed", "min_score": 0.1,
            "order": "newest", "limit": 5, "after": "9",
        })),
        "search_discoveries" => about(json!({
            "text": "canary", "source": "canary feed", "state": "scored", "tier": "high",
            "min_score": 0.1, "limit": 5,
        })),
        "get_discovery" | "score_from_profile" => json!({ "id": 1 }),
        "score_discovery" => json!({ "id": 1, "score": 0.6, "expected_revision": 1 }),
        "promote_discovery" => {
            json!({ "id": 1, "ref": "r", "threshold": 0.1, "force": false })
        }
        "dismiss_discovery" => json!({ "id": 1, "reason": "r" }),
        "feedback" => json!({ "id": 1, "signal": "useful", "note": "n" }),
        "decay" => about(json!({ "rate": 0.1, "min_age": "1m", "period": "1h" })),
        "roll_back_source" => about(json!({
            "source": "canary feed", "since_time": "2000-01-01T00:00:00Z",
        })),
        "interest_profile" => about(json!({})),
        "update_interest_profile" => about(json!({
            "keyword_weights": { "k": 0.5 }, "source_weights": { "s": -0.5 },
            "topic_vector": [0.5, 1], "topic_model": "canary-1", "expected_revision": 1,
        })),
        _ => return None,
    })
}

/// Values that a field of a discovery must refuse.
pub(super) fn wrong_for_discoveries(operation: &Operation, field: &str) -> Option<Vec<Value>> {
    let number = || {
        vec![
            json!("0.5"),
            json!(-0.1),
            json!(1.1),
            json!(1e300),
            json!([]),
        ]
    };
    let vector = || {
        vec![
            json!([]),
            json!([0, 0]),
            json!([1]),
            json!([1, 2, 3]),
            json!([1e39, 1]),
            json!([1, "2"]),
            json!("AACAPw=="),
            json!("AAAAAAAAgD8"[..9]),
            json!("no base64!"),
            json!(7),
            json!(vec![1; 4_097]),
        ]
    };
    let weights = || {
        let many = (0..257).map(|n| (n.to_string(), json!(0.5)));
        vec![
            json!([]),
            json!(1),
            json!({ "k": 1.1 }),
            json!({ "k": "1" }),
            json!({ "k": null }),
            json!({ "": 0.5 }),
            json!({ "a\0": 0.5 }),
            Value::Object(many.collect()),
        ]
    };
    let span = |too_much: &str| {
        let texts = ["5", "-5m", too_much].map(Value::from);
        texts.into_iter().chain([json!(5)]).collect()
    };
    Some(match (operation.name, field) {
        (_, "source_id" | "title") => no_line(512),
        ("submit_discovery", "summary") => no_prose(16 * 1_024),
        (_, "embedding" | "topic_vector") => vector(),
        (_, "score" | "min_score" | "threshold") => number(),
        (_, "dedup_threshold" | "rate") => [number(), vec![json!(0)]].concat(),
        ("search_discoveries", "text" | "vector") => wrong_for_searches(field),
        ("submit_discovery" | "search_discoveries", "model") | (_, "source" | "topic_model") => {
            no_line(128)
        }
        (_, "ref") => no_line(256),
        (_, "keyword_weights") => [weights(), vec![json!({ "++": 0.5 })]].concat(),
        (_, "source_weights") => weights(),
        (_, "force") => vec![json!("true"), json!(1)],
        (_, "signal" | "tier") => vec![json!("Useful"), json!("High"), json!(""), json!(1)],
        (_, "min_age") => span("3651d"),
        (_, "period") => span("500ms"),
        (_, "since_time") => ["", "tomorrow", "2100-13-01T00:00:00Z"]
            .map(Value::from)
            .into(),
        _ => return None,
    })
}

/// What a search must refuse to look for.
fn wrong_for_searches(field: &str) -> Vec<Value> {
    if field == "text" {
        let long = "x".repeat(1_025);
        let texts = ["", " ", "a\0b", "from:Blue", "-only", long.as_str()];
        return texts.map(Value::from).into();
    }
    let numbers = [json!([1, 0.5]), json!(7)];
    let texts = ["AAAAAA==", "AADAfw==", "no base64!", "AACAP"].map(Value::from);
    numbers.into_iter().chain(texts).collect()
}
