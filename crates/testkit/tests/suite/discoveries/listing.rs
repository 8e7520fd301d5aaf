//! Lists of discoveries.

use comity_testkit::both_engines;

use super::*;

/// Reads a list to its end, in pages of two.
fn all(lab: &Lab, filter: &Value) -> Vec<i64> {
    let mut request = filter.clone();
    request["limit"] = json!(2);
    let mut ids = Vec::new();
    loop {
        let page = lab.done("list_discoveries", &request);
        let items = page["items"].as_array().unwrap();
        assert!(items.len() <= 2);
        ids.extend(items.iter().map(|item| item["id"].as_i64().unwrap()));
        match page["next"].as_str() {
            Some(next) => request["after"] = json!(next),
            None => return ids,
        }
    }
}

both_engines! {
    fn a_list_is_whole_in_either_order(engine) {
        let lab = Lab::new(engine);
        for (n, score) in [0.5, 0.9, 0.5, 0.1 + 0.2, 0.0, 0.5].into_iter().enumerate() {
            lab.scored(&n.to_string(), score);
        }
        lab.submit("new", &json!({ "source": "other", "summary": "x".repeat(300) }));
        lab.done("dismiss_discovery", &json!({ "id": 5 }));
        lab.done("promote_discovery", &json!({ "id": 2, "ref": "r" }));
        lab.call(&lab.team.far, "submit_discovery", &wish("far", &json!({ "score": 1 }))).unwrap();
        assert_eq!(all(&lab, &json!({})), [7, 6, 5, 4, 3, 2, 1]);
        assert_eq!(all(&lab, &json!({ "order": "newest" })), [7, 6, 5, 4, 3, 2, 1]);
        // Those that are worth the same in the order of their numbers.
        assert_eq!(all(&lab, &json!({ "order": "score" })), [2, 1, 3, 6, 4, 5]);
        assert_eq!(all(&lab, &json!({ "state": "scored" })), [6, 4, 3, 1]);
        assert_eq!(all(&lab, &json!({ "state": "dismissed" })), [5]);
        assert_eq!(all(&lab, &json!({ "tier": "medium", "order": "score" })), [1, 3, 6]);
        assert_eq!(all(&lab, &json!({ "source": "other" })), [7]);
        assert_eq!(all(&lab, &json!({ "min_score": 0.3, "order": "score" })), [2, 1, 3, 6, 4]);
        let shown = lab.done("list_discoveries", &json!({ "source": "other" }));
        assert_eq!(shown["items"][0]["summary"].as_str().unwrap().len(), 200);
        assert_eq!(lab.get(7)["summary"].as_str().unwrap().len(), 300);
        let everywhere = lab.operate("list_discoveries", &json!({}));
        assert_eq!(everywhere["items"].as_array().unwrap().len(), 8);
        let mixed = json!({ "order": "score", "after": "5" });
        assert_eq!(lab.refused("list_discoveries", &mixed), "invalid");
        assert_eq!(code(lab.call(&lab.team.far, "get_discovery", &json!({ "id": 1 }))), "not_found");
    }
}
