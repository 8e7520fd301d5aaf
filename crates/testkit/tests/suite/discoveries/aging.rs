//! Scores lose of their value by age; a source is taken back.

use comity_domain::Score;
use comity_kernel::actor::Party;
use comity_kernel::log::Event;
use comity_kernel::tx::WriteTx;
use comity_kernel::{Command, Stop};
use comity_testkit::both_engines;
use serde::Serialize;

use super::*;

fn decay(lab: &Lab, rate: f64, min_age: &str, period: &str) -> Vec<(i64, f64)> {
    let request = json!({ "project": "web", "rate": rate, "min_age": min_age, "period": period });
    let answer = lab.operate("decay", &request);
    assert_eq!(answer["more"], false);
    let decayed = answer["decayed"].as_array().unwrap().iter();
    decayed
        .map(|one| {
            let score = one["score"].as_f64().unwrap();
            let tier = Score::parse(score).unwrap().tier();
            assert_eq!(one["tier"], tier.as_str());
            (one["id"].as_i64().unwrap(), score)
        })
        .collect()
}

/// Fails unless every row's tier is that of its score, by the rule of the code (J4).
fn tiers_follow_the_scores(lab: &Lab) {
    let list = lab.operate(
        "list_discoveries",
        &json!({ "project": "web", "limit": 500 }),
    );
    for one in list["items"].as_array().unwrap() {
        let tier = one["score"]
            .as_f64()
            .map(|score| Score::parse(score).unwrap().tier().as_str());
        assert_eq!(one["tier"].as_str(), tier, "{one}");
    }
}

both_engines! {
    // J4 J5 F-H2 F-H3: each number is `score * (1 - rate)` to the last bit, and its tier with it
    fn what_decays_is_exact_and_keeps_its_tier(engine) {
        let lab = Lab::new(engine);
        let scores = [1.0, 0.9, 0.8, 0.8_f64.next_up(), 0.55, 0.5, 0.3, 0.1 + 0.2, 1e-300, 5e-324, 0.0];
        let ids: Vec<_> = scores.iter().enumerate().map(|(n, score)| lab.scored(&n.to_string(), *score)).collect();
        tiers_follow_the_scores(&lab);
        lab.pass(HOUR);
        let mut expected: Vec<_> = ids.into_iter().zip(scores).collect();
        for (round, rate) in [(1, 0.1), (2, 1.0 / 3.0), (3, 0.5), (4, 1.0)] {
            expected.retain(|(_, score)| *score > 0.0);
            for (_, score) in &mut expected {
                *score *= 1.0 - rate;
            }
            assert_eq!(decay(&lab, rate, "30m", "1h"), expected, "round {round}");
            for (id, score) in &expected {
                assert_eq!(lab.get(*id)["score"].as_f64(), Some(*score));
            }
            tiers_follow_the_scores(&lab);
            lab.pass(HOUR);
        }
        assert_eq!(decay(&lab, 0.5, "30m", "1h"), []);
        // Each number is in its event: nothing is computed again.
        let events = lab.shell("select count(*) from event where kind = 'discovery_decayed'");
        assert_eq!(events, "39");
    }

    // J6: twice is once; another period counts anew, a longer one has its own bounds
    fn a_discovery_decays_once_per_period(engine) {
        let lab = Lab::new(engine);
        // From the beginning of a day of the clock.
        let now: i64 = lab.shell("select lease_us from log_head").parse().unwrap();
        lab.pass(24 * HOUR - now.rem_euclid(24 * HOUR) + SECOND);
        let id = lab.scored("a", 0.8);
        lab.pass(2 * HOUR);
        assert_eq!(decay(&lab, 0.5, "3h", "1d"), [], "it is too young");
        assert_eq!(decay(&lab, 0.5, "2h", "1d"), [(id, 0.4)]);
        let before = lab.head();
        assert_eq!(decay(&lab, 0.5, "2h", "1d"), []);
        lab.pass(21 * HOUR);
        assert_eq!(decay(&lab, 0.5, "2h", "1d"), []);
        assert_eq!(lab.head(), before);
        // Asked for hours, it has not decayed in this one.
        assert_eq!(decay(&lab, 0.5, "2h", "1h"), [(id, 0.2)]);
        assert_eq!(decay(&lab, 0.5, "2h", "1h"), []);
        lab.pass(HOUR);
        assert_eq!(decay(&lab, 0.5, "2h", "1d"), [(id, 0.1)]);
        assert_eq!(lab.get(id)["revision"], 4);
    }

    // J6: settled ones and those without a score stay as they are; so do other projects
    fn what_is_settled_does_not_decay(engine) {
        let lab = Lab::new(engine);
        let (won, gone, new) = (lab.scored("won", 0.9), lab.scored("gone", 0.9), lab.submit("new", &json!({})));
        lab.done("promote_discovery", &json!({ "id": won, "ref": "r" }));
        lab.done("dismiss_discovery", &json!({ "id": gone }));
        let far = wish("far", &json!({ "score": 0.9 }));
        lab.call(&lab.team.far, "submit_discovery", &far).unwrap();
        let open = lab.scored("open", 0.9);
        lab.pass(HOUR);
        let rate = 0.25;
        assert_eq!(decay(&lab, rate, "0s", "1s"), [(open, 0.9 * 0.75)]);
        for (id, score) in [(won, json!(0.9)), (gone, json!(0.9)), (new, Value::Null)] {
            assert_eq!(lab.get(id)["score"], score);
        }
        let agent = json!({ "rate": 0.1, "min_age": "0s", "period": "1s" });
        assert_eq!(lab.refused("decay", &agent), "forbidden");
        for (field, value) in [
            ("rate", json!(0)), ("rate", json!(1.5)), ("period", json!("999ms")), ("min_age", json!("3651d")),
        ] {
            let mut request = json!({ "project": "web", "rate": 0.1, "min_age": "0s", "period": "1s" });
            request[field] = value;
            let error = lab.call(&Actor::OPERATOR, "decay", &request).unwrap_err();
            assert_eq!(error.to_json()["field"], field, "{error}");
        }
    }

    // J8 F-H5: events for exactly the rows that changed; a second call none
    fn a_source_is_rolled_back_exactly(engine) {
        let lab = Lab::new(engine);
        let old = lab.scored("old", 0.9);
        lab.pass(HOUR);
        let since = lab.get(lab.scored("first", 0.9))["discovered_at"].clone();
        let (first, new) = (old + 1, lab.submit("new", &json!({})));
        let (won, gone) = (lab.scored("won", 0.9), lab.scored("gone", 0.9));
        let other = lab.submit("first", &json!({ "source": "other" }));
        lab.done("promote_discovery", &json!({ "id": won, "ref": "r" }));
        lab.done("dismiss_discovery", &json!({ "id": gone, "reason": "mine" }));
        let back = json!({ "project": "web", "source": "feed", "since_time": since });
        let before = lab.head();
        let answer = lab.operate("roll_back_source", &back);
        assert_eq!((&answer["dismissed"], &answer["more"]), (&json!([first, new]), &json!(false)));
        assert_eq!(lab.head(), before + 2);
        let states = |ids: &[i64]| ids.iter().map(|id| lab.get(*id)["state"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
        assert_eq!(states(&[old, first, new, won, gone, other]), ["scored", "dismissed", "dismissed", "promoted", "dismissed", "new"]);
        assert_eq!(lab.get(gone)["reason"], "mine");
        let again = lab.operate("roll_back_source", &back);
        assert_eq!((&again["dismissed"], lab.head()), (&json!([]), before + 2));
        let dismissed = "select count(*) from event where kind = 'discovery_dismissed'";
        assert_eq!(lab.shell(dismissed), "3");
        let agent = json!({ "source": "feed", "since_time": since });
        assert_eq!(lab.refused("roll_back_source", &agent), "forbidden");
    }

    // J6: what never decayed and what decayed before come together, by number
    fn those_that_decay_are_named_in_order(engine) {
        let lab = Lab::new(engine);
        let old = lab.submit("old", &json!({ "score": 0.8 }));
        let older = lab.submit("older", &json!({ "score": 0.8 }));
        lab.pass(2 * HOUR);
        assert_eq!(decay(&lab, 0.5, "1h", "1h"), [(old, 0.4), (older, 0.4)]);
        let young = lab.submit("young", &json!({ "score": 0.6 }));
        lab.pass(2 * HOUR);
        let late = lab.submit("late", &json!({ "score": 0.6 }));
        assert_eq!(decay(&lab, 0.5, "1h", "1h"), [(old, 0.2), (older, 0.2), (young, 0.3)]);
        assert_eq!(decay(&lab, 0.5, "0s", "1h"), [(late, 0.3)]);
    }

    // Very many are taken a piece at a time
    fn more_than_a_call_takes_is_said(engine) {
        let lab = Lab::new(engine);
        let count = comity_domain::limits::DISCOVERIES_PER_CALL_MAX + 5;
        // One command of many events, so that the test is quick.
        lab.team.kit.run(Many { count }).unwrap();
        lab.pass(HOUR);
        let decay = json!({ "project": "web", "rate": 0.5, "min_age": "0s", "period": "1d" });
        let sizes = |operation: &str, request: &Value, list: &str| {
            let mut sizes = Vec::new();
            loop {
                let answer = lab.operate(operation, request);
                sizes.push(answer[list].as_array().unwrap().len());
                if answer["more"] == false {
                    return sizes;
                }
            }
        };
        assert_eq!(sizes("decay", &decay, "decayed"), [1_000, 5]);
        assert_eq!(lab.shell("select count(*) from discovery where score = 0.25"), count.to_string());
        let back = json!({ "project": "web", "source": "feed", "since_time": "2000-01-01T00:00:00Z" });
        assert_eq!(sizes("roll_back_source", &back, "dismissed"), [1_000, 5]);
    }
}

/// Submits many discoveries at once.
#[derive(Clone, Serialize)]
struct Many {
    count: i64,
}

impl Command for Many {
    const NAME: &'static str = "many";
    const WHO: &'static [Party] = &[Party::Operator];
    type Answer = ();

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<(), Stop> {
        for id in 1..=self.count {
            let payload = json!({
                "id": id, "project": 1, "source": "feed", "source_id": id.to_string(),
                "title": "t", "summary": "", "url": null, "score": 0.5, "embedding": null,
                "agent": null, "discovered": 1,
            });
            let event = Event::read("discovery_submitted", 1, &payload.to_string());
            tx.emit(event.expect("a known kind").expect("a payload"))?;
        }
        Ok(())
    }
}
