//! What a project is interested in, and the scores that follow from it.

use comity_testkit::both_engines;

use super::*;

fn profile(lab: &Lab) -> Value {
    lab.done("interest_profile", &json!({}))["interest_profile"].clone()
}

/// The three fields of a profile, without what counts its changes.
fn fields(profile: &Value) -> [Value; 4] {
    [
        "keyword_weights",
        "source_weights",
        "topic_vector",
        "topic_model",
    ]
    .map(|name| profile[name].clone())
}

both_engines! {
    // J10 F-M4: of every subset of fields what is absent stays, and `null` clears
    fn a_partial_change_keeps_the_rest(engine) {
        let lab = Lab::new(engine);
        let none = profile(&lab);
        assert_eq!(fields(&none), [json!({}), json!({}), Value::Null, Value::Null]);
        assert_eq!((&none["revision"], &none["updated_at"]), (&json!(0), &Value::Null));
        let values = [
            vec![("keyword_weights", json!({ "rust": 0.5, "old": -1 }))],
            vec![("source_weights", json!({ "feed": 0.25 }))],
            vec![("topic_vector", json!([1, 2])), ("topic_model", json!("m-1"))],
        ];
        let others = [
            vec![("keyword_weights", json!({ "go": 0.1 }))],
            vec![("source_weights", json!({ "blog": -0.5 }))],
            vec![("topic_vector", json!([-3, 4])), ("topic_model", json!("m-1"))],
        ];
        let update = |fields: &[(&str, Value)]| {
            let request: serde_json::Map<_, _> = fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
            lab.done("update_interest_profile", &Value::Object(request))
        };
        for subset in 0..8 {
            for clear in [false, true] {
                update(&values.concat());
                let before = profile(&lab);
                let mut change = Vec::new();
                for (nth, fields) in others.iter().enumerate() {
                    if subset >> nth & 1 == 1 {
                        if clear {
                            change.push((fields[0].0, Value::Null));
                        } else {
                            change.extend_from_slice(fields);
                        }
                    }
                }
                update(&change);
                let after = profile(&lab);
                for (nth, name) in ["keyword_weights", "source_weights", "topic_vector"].into_iter().enumerate() {
                    let changed = subset >> nth & 1 == 1;
                    assert_eq!(after[name] != before[name], changed, "{name} of {change:?}");
                    if changed && clear {
                        let empty = if nth == 2 { Value::Null } else { json!({}) };
                        assert_eq!(after[name], empty);
                    }
                }
                assert_eq!(after["topic_model"].is_null(), after["topic_vector"].is_null());
                let revision = |profile: &Value| profile["revision"].as_i64().unwrap();
                assert_eq!(revision(&after) - revision(&before), i64::from(subset != 0));
            }
        }
    }

    // H2 J11, and who may
    fn a_profile_takes_only_what_is_one(engine) {
        let lab = Lab::new(engine);
        lab.submit("a", &json!({ "embedding": [1, 2], "model": "m-1" }));
        let first = json!({ "keyword_weights": { "a": 1 }, "expected_revision": 0 });
        lab.done("update_interest_profile", &first);
        assert_eq!(lab.refused("update_interest_profile", &json!({ "keyword_weights": null, "expected_revision": 0 })), "version_conflict");
        for (request, field) in [
            (json!({ "topic_vector": [1, 2, 3], "topic_model": "m-1" }), "topic_vector"),
            (json!({ "topic_vector": [0, 0], "topic_model": "m-1" }), "topic_vector"),
            (json!({ "topic_vector": [1, 2] }), "topic_model"),
            (json!({ "topic_model": "m-1" }), "topic_vector"),
            (json!({ "topic_vector": null, "topic_model": "m-1" }), "topic_vector"),
            (json!({ "keyword_weights": { "--": 0.1 } }), "keyword_weights"),
            (json!({ "source_weights": { "a": 1.5 } }), "source_weights"),
        ] {
            let error = lab.call(&lab.team.blue, "update_interest_profile", &request).unwrap_err();
            let named = error.to_json()["field"].clone();
            assert!(named.as_str().unwrap().starts_with(field), "{request}: {error}");
        }
        // The topic's size holds for what comes later, too.
        lab.done("update_interest_profile", &json!({ "topic_vector": [1, 2, 3], "topic_model": "m-2" }));
        let other = wish("b", &json!({ "embedding": [1, 2], "model": "m-2" }));
        assert_eq!(lab.refused("submit_discovery", &other), "invalid");
        assert_eq!(profile(&lab)["revision"], 2);
        let far = lab.call(&lab.team.far, "interest_profile", &json!({})).unwrap();
        assert_eq!(far["interest_profile"]["revision"], 0);
        let elsewhere = lab.call(&lab.team.far, "interest_profile", &json!({ "project": "web" }));
        assert_eq!(code(elsewhere), "not_found");
    }

    // The answer explains its sum, and the sum is the score
    fn a_score_by_interests_is_explained(engine) {
        let lab = Lab::new(engine);
        let id = lab.submit("a", &json!({
            "title": "Row locks in SQLite", "summary": "An old story.", "embedding": [3, 4], "model": "m-1",
        }));
        assert_eq!(lab.refused("score_from_profile", &json!({ "id": id })), "not_found");
        lab.done("update_interest_profile", &json!({
            "keyword_weights": { "row locks": 0.5, "old": -0.25, "locks row": 1, "sqlit": 1 },
            "source_weights": { "feed": 0.125 }, "topic_vector": [4, 3], "topic_model": "m-1",
        }));
        let answer = lab.done("score_from_profile", &json!({ "id": id }));
        let addends = answer["addends"].as_array().unwrap();
        let what: Vec<_> = addends.iter().map(|one| one["what"].as_str().unwrap()).collect();
        assert_eq!(what, ["keyword `old`", "keyword `row locks`", "source `feed`", "topic"]);
        let sum = addends.iter().fold(0.0, |sum, one| sum + one["contribution"].as_f64().unwrap());
        assert_eq!(answer["sum"].as_f64(), Some(sum));
        assert_eq!(answer["discovery"]["score"].as_f64(), Some(sum));
        assert!((sum - (0.5 - 0.25 + 0.125 + 0.48)).abs() < 1e-6, "{sum}");
        let before = lab.head();
        assert_eq!(lab.done("score_from_profile", &json!({ "id": id }))["sum"], answer["sum"]);
        assert_eq!(lab.head(), before);
        // A sum beyond 0 and 1 is brought there.
        lab.done("update_interest_profile", &json!({ "source_weights": { "feed": -1 } }));
        let low = lab.done("score_from_profile", &json!({ "id": id }));
        assert!(low["sum"].as_f64().unwrap() < 0.0);
        assert_eq!((&low["discovery"]["score"], &low["discovery"]["tier"]), (&json!(0.0), &json!("discard")));
        let many = json!({ "keyword_weights": { "row": 1, "locks": 1 }, "source_weights": null });
        lab.done("update_interest_profile", &many);
        let high = lab.done("score_from_profile", &json!({ "id": id }));
        assert_eq!((&high["discovery"]["score"], &high["discovery"]["tier"]), (&json!(1.0), &json!("high")));
    }
}
