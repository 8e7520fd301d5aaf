//! Who gets which work: rank, dependencies, runs, limits, back-off.

use comity_domain::DispatchId;
use comity_testkit::both_engines;

use super::*;

both_engines! {
    // BEHAVIOUR: the oldest of the highest priority, of the kinds asked for
    fn the_oldest_of_the_highest_priority_comes_first(engine) {
        let shop = Shop::new(engine);
        let blue = &shop.team.blue;
        let make = |kind: &str, priority: i64| shop.create(&json!({ "agent_kind": kind, "priority": priority })).id;
        let expected = [make("coder", 0), make("tester", 1000), make("coder", 7), make("tester", 7), make("coder", -1000), make("coder", 7)];
        make("writer", 999);
        let mut got = Vec::new();
        let wish = json!({ "agent_kinds": ["tester", "coder"] });
        loop {
            let claimed = shop.call(blue, "claim_dispatch", &wish).unwrap();
            if claimed["dispatch"].is_null() {
                break;
            }
            got.push(shown(claimed["dispatch"].clone()).id);
        }
        assert_eq!(got, [1, 2, 3, 5, 0, 4].map(|n| expected[n]));
    }

    // BEHAVIOUR: what can never be claimed says so, and by whose end
    fn work_that_waits_for_ever_is_told_apart(engine) {
        let shop = Shop::new(engine);
        let (given_up, open) = (shop.create(&json!({ "agent_kind": "a" })), shop.create(&json!({ "agent_kind": "b" })));
        let last = shop.create(&json!({ "depends_on": [given_up.id, open.id] }));
        assert_eq!(last.blocked_by, []);
        let cancel = json!({ "id": given_up.id, "expected_revision": 1 });
        shop.call(&shop.chief, "cancel_dispatch", &cancel).unwrap();
        let told = shop.get(last.id);
        assert_eq!((told.waits_for, told.blocked_by), (vec![given_up.id, open.id], vec![given_up.id]));
        assert_eq!(shop.claim(&shop.team.blue), None);
        // Whoever hands it out may give it up.
        let cancel = json!({ "id": last.id, "expected_revision": 1 });
        shop.call(&shop.chief, "cancel_dispatch", &cancel).unwrap();
    }

    // C1 H5: the doctor compares what is kept twice
    fn a_queue_and_tokens_that_are_wrong_are_found(engine) {
        for wrong in [
            "delete from dispatch_queue",
            "update dispatch_queue set priority = 7",
            "update dispatch_queue set agent_kind = 'x'",
            "update run set tokens = tokens + 1",
        ] {
            let mut shop = Shop::new(engine);
            shop.run(1, &json!({}));
            shop.create(&json!({ "run": 1 }));
            let found = |shop: &Shop| {
                let findings = shop.team.kit.doctor();
                findings.checks.into_iter().find(|check| check.name == "work").unwrap()
            };
            assert!(found(&shop).ok);
            shop.team.kit.shell(wrong).unwrap();
            let check = found(&shop);
            assert!(!check.ok, "{wrong}: {check:?}");
            shop.team.kit.expect_damage();
        }
    }

    // BEHAVIOUR: what waits for other work is claimed when that is completed, by whichever attempt
    fn work_waits_for_what_it_depends_on(engine) {
        let shop = Shop::new(engine);
        let (blue, chief) = (&shop.team.blue, &shop.chief);
        let (first, second) = (shop.create(&json!({ "agent_kind": "a" })), shop.create(&json!({ "agent_kind": "b" })));
        let last = shop.create(&json!({ "depends_on": [second.id, first.id, first.id] }));
        assert_eq!((&last.depends_on, &last.waits_for), (&vec![first.id, second.id], &vec![first.id, second.id]));
        let done = |kind: &str, outcome: &str| {
            let claim = shop.claim_kind(blue, kind).unwrap();
            shop.finish(blue, &claim, outcome).unwrap();
            claim.id
        };
        done("a", "completed");
        assert_eq!(shop.get(last.id).waits_for, [second.id]);
        let failed = done("b", "failed");
        assert_eq!(shop.claim(blue), None);
        assert_eq!(shop.get(last.id).blocked_by, [second.id]);
        let again = shop.call(chief, "retry_dispatch", &json!({ "id": failed })).unwrap();
        let again = shown(again["dispatch"].clone());
        assert_eq!(shop.get(last.id).blocked_by, [], "somebody will be at it again");
        // What names a later attempt waits for the same work.
        let other = shop.create(&json!({ "agent_kind": "c", "depends_on": [again.id] }));
        assert_eq!(other.depends_on, [second.id]);
        shop.team.kit.clock.advance_us(5 * SECOND);
        assert_eq!(done("b", "completed"), again.id);
        assert_eq!(shop.claim(blue).unwrap().id, last.id);
        assert_eq!(shop.claim_kind(blue, "c").unwrap().id, other.id);
        assert_eq!(shop.get(last.id).waits_for, Vec::<DispatchId>::new());
        // Nobody waits for what is not there, or is another project's.
        let strange = json!({ "project": "api", "agent_kind": "x", "prompt": "p", "depends_on": [first.id] });
        assert_eq!(field(&shop.call(&Actor::OPERATOR, "create_dispatch", &strange)), "depends_on");
        assert_eq!(field(&shop.call(chief, "create_dispatch", &wish(&json!({ "depends_on": [99] })))), "depends_on");
        let many: Vec<_> = (0..65).map(|_| first.id).collect();
        assert_eq!(field(&shop.call(chief, "create_dispatch", &wish(&json!({ "depends_on": many })))), "depends_on");
    }

    // BEHAVIOUR: nothing of a run that rests is handed out
    fn a_run_that_rests_hands_nothing_out(engine) {
        let shop = Shop::new(engine);
        let (blue, chief) = (&shop.team.blue, &shop.chief);
        let run = shop.run(1, &json!({}));
        let made = shop.create(&json!({ "run": run }));
        assert_eq!((made.run.map(comity_domain::RunId::get), made.phase.as_deref()), (Some(1), Some("planned")));
        shop.steer("run_paused", run);
        assert_eq!(shop.claim(blue), None);
        // Made while it rests, and returned while it rests: the same.
        shop.create(&json!({ "run": run }));
        assert_eq!(shop.claim(blue), None);
        shop.steer("run_resumed", run);
        let claim = shop.claim(blue).unwrap();
        assert_eq!(claim.id, made.id);
        shop.steer("run_paused", run);
        shop.pass(MINUTE);
        assert_eq!(shop.claim(blue), None);
        shop.steer("run_resumed", run);
        assert_eq!(shop.claim(blue).unwrap().id, made.id);
        // The operator need not name the project of a run; a run of another is none.
        let by_run = wish(&json!({ "run": run }));
        let made = shop.call(&Actor::OPERATOR, "create_dispatch", &by_run).unwrap();
        assert_eq!(made["dispatch"]["project"], "web");
        let strange = wish(&json!({ "run": run, "project": "api" }));
        assert_eq!(field(&shop.call(&Actor::OPERATOR, "create_dispatch", &strange)), "run");
        assert_eq!(field(&shop.call(chief, "create_dispatch", &wish(&json!({ "run": 9 })))), "run");
        shop.steer("run_cancelled", run);
        assert_eq!(code(shop.call(chief, "create_dispatch", &wish(&json!({ "run": run })))), "illegal_transition");
    }

    // BEHAVIOUR: limits of a run, of everything above it, and of kinds; the next run gets its turn
    fn limits_hold_where_work_is_claimed(engine) {
        let shop = Shop::new(engine);
        let blue = &shop.team.blue;
        shop.run(1, &json!({ "max_dispatches": 3, "max_per_kind": { "coder": 2 } }));
        shop.run(2, &json!({ "parent": 1, "max_dispatches": 1 }));
        shop.run(3, &json!({ "parent": 1 }));
        let make = |run: i64, kind: &str, priority: i64| shop.create(&json!({ "run": run, "agent_kind": kind, "priority": priority })).id;
        // More before all others than anybody looks at one by one.
        let full: Vec<_> = (0..20).map(|_| make(2, "coder", 9)).collect();
        let other: Vec<_> = (0..20).map(|_| make(3, "coder", 5)).collect();
        let free = shop.create(&json!({ "priority": 1 })).id;
        let tester = make(3, "tester", 0);
        let first = shop.claim(blue).unwrap();
        assert_eq!(first.id, full[0], "run 2 has room");
        assert_eq!(shop.claim(blue).unwrap().id, other[0], "run 2 is full, run 3 is not");
        assert_eq!(shop.claim(blue).unwrap().id, free, "two coders are at work below run 1");
        assert_eq!(shop.claim(blue), None);
        assert_eq!(shop.claim_kind(blue, "tester").unwrap().id, tester);
        make(3, "tester", 0);
        assert_eq!(shop.claim_kind(blue, "tester"), None, "three are at work below run 1");
        shop.finish(blue, &first, "completed").unwrap();
        assert_eq!(shop.claim(blue).unwrap().id, full[1]);
    }

    // BEHAVIOUR: an enforced budget hands nothing out once it is used, for everything below
    fn a_spent_budget_hands_nothing_out(engine) {
        let shop = Shop::new(engine);
        let blue = &shop.team.blue;
        shop.run(1, &json!({ "token_budget": 100, "budget_enforced": true }));
        shop.run(2, &json!({ "parent": 1, "token_budget": 1 }));
        let claim = shop.claimed(blue, &json!({ "run": 2 }));
        shop.create(&json!({ "run": 2 }));
        shop.step(blue, "report_dispatch", &claim, &json!({ "tokens": 99 })).unwrap();
        let second = shop.claim(blue).unwrap();
        shop.step(blue, "report_dispatch", &second, &json!({ "tokens": 1 })).unwrap();
        shop.create(&json!({ "run": 1 }));
        assert_eq!(shop.claim(blue), None);
        shop.happens("run_updated", json!({
            "id": 1, "project": 1, "goal": "ship", "token_budget": 101, "max_dispatches": null, "metadata": {},
        }));
        assert!(shop.claim(blue).is_some());
    }

    // 3.2 X5: a worker that dies loses its claim, and the next has a greater fence
    fn a_lost_claim_comes_back_with_a_greater_fence(engine) {
        let shop = Shop::new(engine);
        let (blue, green) = (&shop.team.blue, &shop.team.green);
        let claim = shop.claimed(blue, &json!({}));
        shop.step(blue, "report_dispatch", &claim, &json!({ "tokens": 5, "progress": "p" })).unwrap();
        shop.team.kit.clock.advance_us(MINUTE);
        // It has expired before anybody wrote that down.
        for (operation, more) in [("start_dispatch", json!({})), ("extend_dispatch", json!({})),
            ("report_dispatch", json!({ "tokens": 6 })), ("finish_dispatch", json!({ "outcome": "completed" }))] {
            assert_eq!(code(shop.step(blue, operation, &claim, &more)), "lease_expired", "{operation}");
        }
        let by_operator = json!({ "id": claim.id, "expected_revision": 4, "outcome": "completed" });
        assert_eq!(code(shop.call(&Actor::OPERATOR, "finish_dispatch", &by_operator)), "lease_expired");
        // Without a server the next who asks writes it down.
        let second = shop.claim(green).unwrap();
        assert_eq!((second.id, second.claims, second.tokens), (claim.id, 2, 5));
        assert!(second.fence > claim.fence);
        assert_eq!(code(shop.finish(blue, &claim, "completed")), "lease_expired");
        shop.pass(MINUTE);
        assert_eq!(shop.get(claim.id).state.as_str(), "queued");
        assert_eq!(code(shop.finish(green, &second, "completed")), "lease_expired");
        let third = shop.claim(blue).unwrap();
        assert_eq!(code(shop.finish(blue, &claim, "completed")), "lease_expired", "an earlier claim of its own");
        shop.finish(blue, &third, "completed").unwrap();
        assert_eq!((shop.count("dispatch_returned"), shop.count("dispatch_finished")), (2, 1));
    }

    // BEHAVIOUR: retiring returns what the agent has in hand at once
    fn a_retired_worker_gives_its_work_back(engine) {
        let shop = Shop::new(engine);
        let claim = shop.claimed(&shop.team.blue, &json!({}));
        shop.claimed(&shop.team.green, &json!({}));
        shop.call(&Actor::OPERATOR, "retire_agent", &json!({ "project": "web", "agent": "Blue" })).unwrap();
        assert_eq!(shop.get(claim.id).state.as_str(), "queued");
        assert_eq!(shop.claim(&shop.team.red).unwrap().id, claim.id);
        let sql = "select payload from event where kind = 'dispatch_returned'";
        assert!(shop.team.kit.shell(sql).unwrap().contains("its worker retired"));
    }

    // 3.2: what is lost and overdue is timed out, not handed out again
    fn a_deadline_comes_before_a_lost_claim(engine) {
        let shop = Shop::new(engine);
        let claim = shop.claimed(&shop.team.blue, &json!({ "deadline": "1m" }));
        shop.pass(2 * MINUTE);
        let settled = shop.get(claim.id);
        assert_eq!((settled.state.as_str(), settled.reason.as_str()), ("timed_out", "its deadline passed"));
        assert_eq!((shop.count("dispatch_timed_out"), shop.count("dispatch_returned")), (1, 0));
        assert_eq!(settled.claimed_by.as_deref(), Some("Blue"), "who had it stays known");
    }

    // S3: requests out of bounds
    fn requests_out_of_bounds_are_refused(engine) {
        let shop = Shop::new(engine);
        let create = |other: Value| shop.call(&shop.chief, "create_dispatch", &wish(&other));
        for (name, value) in [
            ("priority", json!(1001)), ("priority", json!(-1001)), ("deadline", json!("0s")),
            ("deadline", json!("31d")), ("agent_kind", json!("")), ("prompt", json!(" ")),
            ("prompt", json!("x".repeat(256 * 1024 + 1))), ("group", json!("a\nb")),
        ] {
            assert_eq!(field(&create(json!({ name: value }))), name);
        }
        let claim = |wish: Value| shop.call(&shop.team.blue, "claim_dispatch", &wish);
        assert_eq!(field(&claim(json!({ "agent_kinds": [] }))), "agent_kinds");
        let many: Vec<_> = (0..33).map(|n| n.to_string()).collect();
        assert_eq!(field(&claim(json!({ "agent_kinds": many }))), "agent_kinds");
        assert_eq!(field(&claim(json!({ "agent_kinds": ["a"], "lease": "25h" }))), "lease");
        assert_eq!(field(&claim(json!({ "agent_kinds": ["a"], "wait": "61s" }))), "wait");
        assert_eq!(field(&shop.call(&Actor::OPERATOR, "claim_dispatch", &json!({ "agent_kinds": ["a"] }))), "project");
        let held = shop.claimed(&shop.team.blue, &json!({}));
        let large = json!({ "outcome": "failed", "result": "x".repeat(256 * 1024) });
        assert_eq!(field(&shop.step(&shop.team.blue, "finish_dispatch", &held, &large)), "result");
        assert_eq!(code(shop.call(&shop.chief, "create_dispatch", &wish(&json!({ "state": "completed" })))), "invalid");
    }
}
