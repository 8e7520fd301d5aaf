//! Scores, promotions, dismissals, opinions.

use comity_domain::{DiscoveryState, DiscoveryStep};
use comity_kernel::discovery::{PromoteDiscovery, ScoreDiscovery};
use comity_testkit::both_engines;
use comity_testkit::kit::{operator_with_key, request};

use super::*;

both_engines! {
    // J7 X11 F-H4: five answers, and `force` makes nothing of what is not there
    fn promoting_has_five_answers(engine) {
        let lab = Lab::new(engine);
        let (good, poor, new) = (lab.scored("good", 0.5), lab.scored("poor", 0.49), lab.submit("new", &json!({})));
        let gone = lab.scored("gone", 0.9);
        lab.done("dismiss_discovery", &json!({ "id": gone }));
        let promote = |id: i64, more: Value| {
            let mut request = json!({ "id": id, "ref": "run 7" });
            for (name, value) in more.as_object().unwrap() {
                request[name] = value.clone();
            }
            lab.call(&lab.team.blue, "promote_discovery", &request)
        };
        let facts = |answer: Result<Value, Error>| {
            let error = answer.unwrap_err();
            let (code, shown) = (error.code(), error.to_json());
            (code.word, code.status, code.exit, shown["score"].clone(), shown["threshold"].clone(), shown["ref"].clone())
        };
        let none = Value::Null;
        for force in [false, true] {
            let missing = facts(promote(999, json!({ "force": force })));
            assert_eq!(missing, ("not_found", 404, 1, none.clone(), none.clone(), none.clone()));
            let far = lab.call(&lab.team.far, "promote_discovery", &json!({ "id": good, "ref": "r", "force": force }));
            assert_eq!(facts(far).0, "not_found");
            let dismissed = facts(promote(gone, json!({ "force": force })));
            assert_eq!(dismissed, ("dismissed", 409, 1, none.clone(), none.clone(), none.clone()));
        }
        let below = facts(promote(poor, json!({})));
        assert_eq!(below, ("below_threshold", 409, 1, json!(0.49), json!(0.5), none.clone()));
        let below = facts(promote(new, json!({ "threshold": 0 })));
        assert_eq!(below, ("below_threshold", 409, 1, none.clone(), json!(0.0), none.clone()));
        let done = promote(good, json!({})).unwrap();
        let done = &done["discovery"];
        assert_eq!((&done["state"], &done["ref"], &done["revision"]), (&json!("promoted"), &json!("run 7"), &json!(2)));
        assert!(done["settled_at"].is_string());
        let again = facts(promote(good, json!({ "ref": "other", "force": true })));
        assert_eq!(again, ("already_promoted", 409, 1, none.clone(), none.clone(), json!("run 7")));
        assert_eq!(promote(poor, json!({ "threshold": 0.49 })).unwrap()["discovery"]["state"], "promoted");
        assert_eq!(promote(new, json!({ "force": true })).unwrap()["discovery"]["score"], none);
        let forced = "select count(*) from event where kind = 'discovery_promoted' and payload like '%\"threshold\":null%'";
        assert_eq!(lab.shell(forced), "1");
    }

    // J7: the score is lowered in between
    fn a_promotion_sees_the_score_of_its_own_moment(engine) {
        let lab = Lab::new(engine);
        let id = lab.scored("a", 0.9);
        let gate = lab.team.kit.failpoints.pause("writer.before_batch");
        let kernel = lab.team.kit.kernel();
        // One opens the batch that the other two are in.
        let first = kernel.execute(Actor::OPERATOR.into(), request::<ScoreDiscovery>(&json!({ "id": id, "score": 0.8 })));
        gate.wait_until_hit();
        let lower = kernel.execute(Actor::OPERATOR.into(), request::<ScoreDiscovery>(&json!({ "id": id, "score": 0.2 })));
        let promote = kernel.execute(Actor::OPERATOR.into(), request::<PromoteDiscovery>(&json!({ "id": id, "ref": "r" })));
        gate.open();
        first.wait().unwrap();
        lower.wait().unwrap();
        let refused = promote.wait().unwrap_err();
        assert!(matches!(refused, Error::BelowThreshold { score: Some(0.2), .. }), "{refused:?}");
        assert_eq!(lab.get(id)["state"], "scored");
    }

    // J7 J8 J9: the update itself looks, whatever was decided
    fn an_event_that_no_longer_fits_changes_nothing(engine) {
        let lab = Lab::new(engine);
        let (poor, gone) = (lab.scored("poor", 0.2), lab.scored("gone", 0.9));
        lab.done("dismiss_discovery", &json!({ "id": gone }));
        let before = lab.head();
        for (kind, id, more) in [
            ("discovery_promoted", poor, json!({ "ref": "r", "threshold": 0.5, "agent": null })),
            ("discovery_promoted", gone, json!({ "ref": "r", "threshold": 0.5, "agent": null })),
            ("discovery_promoted", gone, json!({ "ref": "r", "threshold": null, "agent": null })),
            ("discovery_dismissed", gone, json!({ "reason": "", "rolled_back": true, "agent": null })),
            ("discovery_scored", gone, json!({ "score": 1.0, "addends": null, "agent": null })),
            ("discovery_decayed", gone, json!({ "rate": 0.5, "score": 0.45, "decayed": 1 })),
            ("discovery_decayed", poor, json!({ "rate": 0.5, "score": 0.3, "decayed": 1 })),
        ] {
            let mut payload = more;
            payload["id"] = json!(id);
            payload["project"] = json!(1);
            let refused = lab.team.kit.run(Happens { kind, payload });
            assert_eq!(refused.unwrap_err().code().word, "internal", "{kind}");
        }
        assert_eq!(lab.head(), before);
    }

    // J9 F-M3: what was put aside is not scored again, and so not promoted
    fn what_is_settled_is_not_scored(engine) {
        let lab = Lab::new(engine);
        let (gone, won) = (lab.scored("gone", 0.1), lab.scored("won", 0.9));
        lab.done("dismiss_discovery", &json!({ "id": gone, "reason": "old news" }));
        lab.done("promote_discovery", &json!({ "id": won, "ref": "r" }));
        lab.done("update_interest_profile", &json!({ "keyword_weights": { "news": 1 } }));
        let before = lab.head();
        for (id, word) in [(gone, "dismissed"), (won, "already_promoted")] {
            assert_eq!(lab.refused("score_discovery", &json!({ "id": id, "score": 1 })), word);
            assert_eq!(lab.refused("score_from_profile", &json!({ "id": id })), word);
            assert_eq!(lab.refused("promote_discovery", &json!({ "id": id, "ref": "r" })), word);
            assert_eq!(lab.refused("dismiss_discovery", &json!({ "id": id })), word);
        }
        assert_eq!(lab.head(), before);
        let found = lab.get(gone);
        assert_eq!((&found["state"], &found["score"], &found["reason"]), (&json!("dismissed"), &json!(0.1), &json!("old news")));
    }

    // J9: the table of steps is the one of the code
    fn the_edges_are_those_of_the_code(engine) {
        let lab = Lab::new(engine);
        let steps = [DiscoveryStep::Score, DiscoveryStep::Decay, DiscoveryStep::Promote, DiscoveryStep::Dismiss];
        let mut edges: Vec<_> = DiscoveryState::ALL
            .iter()
            .flat_map(|from| steps.iter().filter_map(|step| from.after(*step)).map(move |to| (*from, to)))
            .filter(|(from, to)| from != to)
            .map(|(from, to)| format!("{}|{}", from.as_str(), to.as_str()))
            .collect();
        edges.sort();
        let table = lab.shell("select from_state, to_state from discovery_edge order by 1, 2");
        assert_eq!(table.lines().collect::<Vec<_>>(), edges);
    }

    // H2 C2: a stale revision, the same score again, the same key again
    fn a_score_is_given_once(engine) {
        let lab = Lab::new(engine);
        let id = lab.submit("a", &json!({}));
        let answer = lab.done("score_discovery", &json!({ "id": id, "score": 0.8, "expected_revision": 1 }));
        let discovery = &answer["discovery"];
        assert_eq!((&discovery["tier"], &discovery["state"], &discovery["revision"]), (&json!("high"), &json!("scored"), &json!(2)));
        let stale = json!({ "id": id, "score": 0.1, "expected_revision": 1 });
        assert_eq!(lab.refused("score_discovery", &stale), "version_conflict");
        let before = lab.head();
        lab.done("score_discovery", &json!({ "id": id, "score": 0.8 }));
        assert_eq!(lab.head(), before);
        let score = json!({ "id": id, "score": 0.4 });
        let twice = || lab.team.kit.call(operator_with_key("k"), "score_discovery", &score).unwrap();
        assert_eq!(twice(), twice());
        assert_eq!(lab.head(), before + 1);
        assert_eq!(lab.refused("score_discovery", &json!({ "id": 999, "score": 1 })), "not_found");
        let far = lab.call(&lab.team.far, "score_discovery", &score);
        assert_eq!(code(far), "not_found");
    }

    // An opinion is heard whatever became of the discovery, and its score stays
    fn opinions_are_kept_with_the_discovery(engine) {
        let lab = Lab::new(engine);
        let id = lab.scored("a", 0.6);
        lab.done("feedback", &json!({ "id": id, "signal": "not_useful", "note": "it's old" }));
        lab.done("promote_discovery", &json!({ "id": id, "ref": "r" }));
        let answer = lab.call(&lab.team.red, "feedback", &json!({ "id": id, "signal": "useful" })).unwrap();
        let discovery = &answer["discovery"];
        let counted = [&discovery["opinions"], &discovery["useful"], &discovery["revision"], &discovery["score"]];
        assert_eq!(counted, [&json!(2), &json!(1), &json!(4), &json!(0.6)]);
        let found = lab.operate("get_discovery", &json!({ "id": id }));
        let said: Vec<_> = found["feedback"].as_array().unwrap().iter().map(|one| (&one["by"], &one["signal"], &one["note"])).collect();
        assert_eq!(said, [
            (&json!("Red"), &json!("useful"), &json!("")),
            (&json!("Blue"), &json!("not_useful"), &json!("it's old")),
        ]);
        assert_eq!(code(lab.call(&lab.team.far, "feedback", &json!({ "id": id, "signal": "wrong" }))), "not_found");
    }
}
