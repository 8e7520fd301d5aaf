//! The part of the scenario that is discoveries; each ends in another way.

use comity_domain::DiscoveryId;
use comity_domain::vector::{Embedding, ModelId};
use comity_kernel::Actor;
use comity_kernel::discovery::KeepVector;
use serde_json::json;

use super::call;
use crate::Kit;

/// Submits discoveries, judges them in every way there is, and says what is interesting.
pub(super) fn discoveries(kit: &Kit, red: &Actor) {
    let operator = &Actor::OPERATOR;
    let submit = |source_id: &str, score: Option<f64>| {
        json!({
            "project": "web", "source": "the feed's", "source_id": source_id,
            "title": "Row locks: été, 日本", "summary": "two\nlines, it's new",
            "url": "https://example.org/é?a='b'", "score": score,
        })
    };
    let mut with_vector = submit("v", None);
    with_vector["embedding"] = json!([0.1, -2.5, 3e-30]);
    with_vector["model"] = json!("acme/small@2");
    let profile = json!({
        "project": "web", "keyword_weights": { "row locks": 0.1, "été": 0.2, "old": -0.7 },
        "source_weights": { "the feed's": 0.3 }, "topic_vector": [1, 1, 1],
        "topic_model": "acme/small@2",
    });
    for (who, name, request) in [
        (red, "submit_discovery", with_vector),
        (operator, "submit_discovery", submit("a", Some(0.9))),
        (red, "submit_discovery", submit("b", None)),
        (red, "submit_discovery", submit("c", Some(1.0))),
        (red, "submit_discovery", submit("d", Some(0.0))),
        (operator, "update_interest_profile", profile),
        (red, "score_from_profile", json!({ "id": 1 })),
        (red, "score_discovery", json!({ "id": 3, "score": 0.1 })),
        (
            operator,
            "decay",
            json!({ "project": "web", "rate": 0.3, "min_age": "1s", "period": "1d" }),
        ),
        (
            red,
            "promote_discovery",
            json!({ "id": 2, "ref": "the run's 1" }),
        ),
        (
            operator,
            "promote_discovery",
            json!({ "id": 3, "ref": "é", "force": true }),
        ),
        (
            red,
            "dismiss_discovery",
            json!({ "id": 4, "reason": "it's old" }),
        ),
        (
            red,
            "feedback",
            json!({ "id": 4, "signal": "known", "note": "déjà vu" }),
        ),
        (operator, "feedback", json!({ "id": 1, "signal": "useful" })),
        (
            operator,
            "update_interest_profile",
            json!({ "project": "web", "keyword_weights": null }),
        ),
        (
            operator,
            "roll_back_source",
            json!({ "project": "web", "source": "the feed's", "since_time": "2001-01-01T00:00:00Z" }),
        ),
        (red, "submit_discovery", submit("e", Some(0.7))),
    ] {
        call(kit, who, name, request);
    }
    embed_late(kit);
}

/// Has a vector come after its discovery.
fn embed_late(kit: &Kit) {
    let late = KeepVector::new(
        DiscoveryId::new(6),
        "Row locks: été, 日本\ntwo\nlines, it's new",
        ModelId::parse("late-1").expect("a name"),
        Embedding::new(vec![0.25, -1.0]).expect("a vector"),
    );
    let kept = kit.kernel().execute(Actor::System.into(), late).wait();
    assert!(kept.expect("a vector that came late").answer.kept);
}
