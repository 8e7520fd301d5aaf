//! Retries, groups and lists.

use comity_domain::DispatchState;
use comity_testkit::both_engines;

use super::*;

impl Shop {
    /// Makes work, and lets it fail.
    fn failed(&self, other: &Value) -> Dispatch {
        let claim = self.claimed(&self.team.blue, other);
        self.finish(&self.team.blue, &claim, "failed").unwrap();
        self.get(claim.id)
    }

    fn retry(&self, id: comity_domain::DispatchId) -> Result<Value, Error> {
        self.call(&self.chief, "retry_dispatch", &json!({ "id": id }))
    }
}

both_engines! {
    // BEHAVIOUR: once per attempt, later and later, counted
    fn an_attempt_is_repeated_once_and_later(engine) {
        let shop = Shop::new(engine);
        let blue = &shop.team.blue;
        let run = shop.run(1, &json!({}));
        let before = shop.create(&json!({ "agent_kind": "other" }));
        let claim = shop.claim_kind(blue, "other").unwrap();
        shop.finish(blue, &claim, "completed").unwrap();
        let more = json!({ "run": run, "priority": 3, "group": "g", "deadline": "1h", "depends_on": [before.id] });
        let failed = shop.failed(&more);
        let answer = shop.retry(failed.id).unwrap();
        assert_eq!(answer["created"], true);
        let next = shown(answer["dispatch"].clone());
        assert_eq!((next.attempt, next.origin, next.retry_of), (2, failed.id, Some(failed.id)));
        assert_eq!((&next.prompt, &next.agent_kind, next.priority), (&failed.prompt, &failed.agent_kind, 3));
        assert_eq!((next.run, &next.group, &next.depends_on), (failed.run, &failed.group, &failed.depends_on));
        assert_eq!((next.not_before_ms, next.deadline_remaining_ms), (5_000, Some(3_605_000)));
        let again = shop.retry(failed.id).unwrap();
        assert_eq!((&again["created"], &again["dispatch"]["id"]), (&json!(false), &json!(next.id)));
        assert_eq!(shop.claim(blue), None, "not yet");
        shop.team.kit.clock.advance_us(5 * SECOND - 1);
        assert_eq!(shop.claim(blue), None, "not yet");
        shop.team.kit.clock.advance_us(1);
        let claim = shop.claim(blue).unwrap();
        assert_eq!((claim.id, claim.deadline_remaining_ms), (next.id, Some(3_600_000)));
        shop.finish(blue, &claim, "failed").unwrap();
        let third = shown(shop.retry(next.id).unwrap()["dispatch"].clone());
        assert_eq!((third.attempt, third.origin, third.not_before_ms), (3, failed.id, 10_000));
        assert_eq!(third.deadline_remaining_ms, Some(3_610_000));
        // A run that has ended takes no more.
        shop.team.kit.clock.advance_us(10 * SECOND);
        let claim = shop.claim(blue).unwrap();
        shop.finish(blue, &claim, "failed").unwrap();
        shop.steer("run_failed", run);
        assert_eq!(code(shop.retry(claim.id)), "illegal_transition");
    }

    // BEHAVIOUR: only what failed or timed out, and not for ever
    fn only_what_came_to_nothing_is_tried_again(engine) {
        let shop = Shop::new(engine);
        let blue = &shop.team.blue;
        let mut refused = vec![shop.create(&json!({ "agent_kind": "q" })).id];
        let claim = shop.claimed(blue, &json!({}));
        refused.push(claim.id);
        let running = shop.claimed(blue, &json!({}));
        shop.step(blue, "start_dispatch", &running, &json!({})).unwrap();
        refused.push(running.id);
        let done = shop.claimed(blue, &json!({}));
        shop.finish(blue, &done, "completed").unwrap();
        refused.push(done.id);
        let gone = shop.create(&json!({ "agent_kind": "q" }));
        shop.call(&shop.chief, "cancel_dispatch", &json!({ "id": gone.id, "expected_revision": 1 })).unwrap();
        refused.push(gone.id);
        for id in refused {
            assert_eq!(code(shop.retry(id)), "illegal_transition");
        }
        let late = shop.create(&json!({ "agent_kind": "q", "deadline": "10s" }));
        shop.team.kit.clock.advance_us(10 * SECOND);
        let next = shop.retry(late.id).unwrap();
        assert_eq!((shop.get(late.id).state, &next["dispatch"]["attempt"]), (DispatchState::TimedOut, &json!(2)));
        let mut last = shop.failed(&json!({}));
        for attempt in 2..=20 {
            let next = shown(shop.retry(last.id).unwrap()["dispatch"].clone());
            assert_eq!(next.attempt, attempt);
            shop.team.kit.clock.advance_us(10 * MINUTE);
            let claim = shop.claim(blue).unwrap();
            // What was lost meanwhile comes first in line.
            let claim = if claim.id == next.id { claim } else { shop.claimed_of(next.id) };
            shop.finish(blue, &claim, "failed").unwrap();
            last = shop.get(next.id);
        }
        assert_eq!(code(shop.retry(last.id)), "limit_exceeded");
    }

    // H6: the worst of the last attempts, whatever the order
    fn a_group_is_as_good_as_its_worst(engine) {
        let shop = Shop::new(engine);
        let blue = &shop.team.blue;
        let outcome = || shop.call(blue, "group_outcome", &json!({ "group": "g" }));
        assert_eq!(code(outcome()), "not_found");
        let group = json!({ "group": "g" });
        let completed = shop.claimed(blue, &group);
        let open = outcome().unwrap();
        assert_eq!((&open["total"], &open["settled"], &open["outcome"]), (&json!(1), &json!(false), &json!(null)));
        shop.finish(blue, &completed, "completed").unwrap();
        assert_eq!(outcome().unwrap()["outcome"], "completed");
        let failed = shop.failed(&group);
        let bad = outcome().unwrap();
        assert_eq!((&bad["total"], &bad["settled"], &bad["outcome"]), (&json!(2), &json!(true), &json!("failed")));
        // What is tried again does not count any more.
        let next = shown(shop.retry(failed.id).unwrap()["dispatch"].clone());
        let again = outcome().unwrap();
        assert_eq!((&again["total"], &again["settled"], &again["outcome"]), (&json!(2), &json!(false), &json!("completed")));
        assert_eq!((&again["counts"]["queued"], &again["counts"]["failed"]), (&json!(1), &json!(0)));
        let late = shop.create(&json!({ "group": "g", "deadline": "1s", "agent_kind": "x" }));
        shop.pass(SECOND);
        assert_eq!(shop.get(late.id).state, DispatchState::TimedOut);
        shop.call(&shop.chief, "cancel_dispatch", &json!({ "id": next.id, "expected_revision": 1 })).unwrap();
        let end = outcome().unwrap();
        assert_eq!((&end["settled"], &end["outcome"]), (&json!(true), &json!("timed_out")));
        assert_eq!((&end["counts"]["completed"], &end["counts"]["cancelled"]), (&json!(1), &json!(1)));
    }

    // F13: lists are pages, the newest first, by every property
    fn lists_are_found_by_every_property(engine) {
        let shop = Shop::new(engine);
        let (blue, chief) = (&shop.team.blue, &shop.chief);
        let run = shop.run(1, &json!({}));
        let mine = shop.claimed(blue, &json!({ "run": run, "group": "g" }));
        let other = shop.create(&json!({ "agent_kind": "tester" }));
        let wish = json!({ "project": "api", "agent_kind": "coder", "prompt": "far" });
        shop.call(&Actor::OPERATOR, "create_dispatch", &wish).unwrap();
        let ids = |who: &Actor, request: Value| {
            let list = shop.call(who, "list_dispatches", &request).unwrap();
            let items = list["items"].as_array().unwrap();
            items.iter().map(|item| item["id"].as_i64().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(ids(&Actor::OPERATOR, json!({})), [3, 2, 1]);
        assert_eq!(ids(&Actor::OPERATOR, json!({ "project": "web" })), [2, 1]);
        assert_eq!(ids(chief, json!({})), [2, 1]);
        for filter in [json!({ "run": run }), json!({ "state": "spawned" }), json!({ "agent_kind": "coder" }),
            json!({ "group": "g" }), json!({ "claimed_by": "Blue" })] {
            assert_eq!(ids(chief, filter), [mine.id.get()]);
        }
        assert_eq!(ids(chief, json!({ "claimed_by": "Green" })), Vec::<i64>::new());
        let page = shop.call(chief, "list_dispatches", &json!({ "limit": 1 })).unwrap();
        assert_eq!((&page["items"][0]["id"], &page["next"]), (&json!(other.id), &json!("2")));
        let next = shop.call(chief, "list_dispatches", &json!({ "limit": 1, "after": "2" })).unwrap();
        assert_eq!((&next["items"][0]["id"], &next["next"]), (&json!(mine.id), &json!(null)));
        assert_eq!(code(shop.call(chief, "list_dispatches", &json!({ "claimed_by": "Nobody" }))), "not_found");
    }
}

impl Shop {
    /// Claims until it has this one.
    fn claimed_of(&self, id: comity_domain::DispatchId) -> Dispatch {
        loop {
            let claim = self.claim(&self.team.blue).expect("work");
            if claim.id == id {
                return claim;
            }
        }
    }
}
