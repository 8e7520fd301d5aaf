//! Which vectors are missed: those that can be made and kept.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use comity_kernel::Making;
use comity_kernel::redaction::RedactEvent;
use comity_testkit::kit::request;
use comity_testkit::{Kit, both_engines};
use serde_json::{Value, json};

use super::{Asked, missing, packed, search, steps, submit};

both_engines! {
    // What would not be kept is not made, however often it is looked at, and what comes with it is
    fn nothing_is_made_for_a_project_whose_vectors_have_another_size(engine) {
        let mut kit = Kit::with(engine, |options| options.embedder = None);
        kit.project("/srv/web");
        kit.project("/srv/api");
        submit(&kit, 0, &json!({ "embedding": [1, 0, 0], "model": "acme" })).unwrap();
        for n in 1..=3 {
            submit(&kit, n, &json!({})).unwrap();
            submit(&kit, n, &json!({ "project": "api" })).unwrap();
        }
        submit(&kit, 4, &json!({ "project": "api", "title": "Flaky" })).unwrap();
        let asked = Asked::fussy("acme", "Flaky", usize::MAX);
        kit.reopen(|options| options.embedder = Some(Arc::clone(&asked) as Arc<_>)).unwrap();
        let mut making = Making::default();
        steps(&kit, &mut making).unwrap();
        let said = making.trouble().unwrap();
        assert!(said.starts_with("4 discoveries"), "each is counted once: {said}");
        assert_eq!(missing(&kit), 4);
        let calls = asked.calls.load(Ordering::SeqCst);
        steps(&kit, &mut Making::default()).unwrap();
        assert_eq!(asked.calls.load(Ordering::SeqCst), calls + 1, "the one that failed by itself");
        assert_eq!(missing(&kit), 4);
    }

    // What is redacted never has a vector again, and is not missed
    fn a_redacted_discovery_is_not_missed(engine) {
        let kit = Kit::with(engine, |options| options.embedder = None);
        kit.project("/srv/web");
        kit.project("/srv/api");
        let seq = |answer: &Value| answer["seq"].as_i64().unwrap();
        let own = json!({ "embedding": [1, 0], "model": "m", "score": 0.9 });
        submit(&kit, 0, &own).unwrap();
        let gone = [
            submit(&kit, 1, &own).unwrap(),
            submit(&kit, 2, &json!({ "score": 0.9 })).unwrap(),
            submit(&kit, 3, &json!({})).unwrap(),
            submit(&kit, 4, &json!({ "project": "api" })).unwrap(),
        ];
        submit(&kit, 5, &json!({})).unwrap();
        let not_embedded = |request: &Value| search(&kit, request).unwrap()["not_embedded"].as_i64().unwrap();
        let vector = json!(packed(&[1.0, 0.0]));
        let counts = || [
            not_embedded(&json!({ "project": "web", "text": "row" })),
            not_embedded(&json!({ "project": "web", "vector": vector, "model": "m" })),
            not_embedded(&json!({ "project": "web", "vector": vector, "model": "m", "min_score": 0.5 })),
            not_embedded(&json!({ "vector": vector, "model": "m" })),
        ];
        assert_eq!(counts(), [5, 3, 1, 4]);
        for answer in &gone {
            let redact: RedactEvent = request(&json!({ "seq": seq(answer), "reason": "a leak" }));
            kit.run(redact).unwrap();
        }
        assert_eq!(counts(), [2, 1, 0, 1]);
    }
}
