//! What each step does, what it is refused with, and what repeating it does.

use comity_domain::{DispatchState, Outcome};
use comity_kernel::Caller;
use comity_kernel::actor::IdempotencyKey;
use comity_testkit::both_engines;

use super::*;

fn keyed(who: &Actor) -> Caller {
    Caller::from(who.clone()).with_key(IdempotencyKey::parse("k").unwrap())
}

both_engines! {
    // H1: the whole way, and everything that is shown on it
    fn work_is_handed_out_claimed_and_done(engine) {
        let shop = Shop::new(engine);
        let (chief, blue) = (&shop.chief, &shop.team.blue);
        let more = json!({ "priority": 5, "group": "night", "deadline": "1h" });
        let made = shop.create(&more);
        assert_eq!((made.state, made.revision, made.attempt), (DispatchState::Queued, 1, 1));
        assert_eq!((made.origin, made.retry_of, made.run), (made.id, None, None));
        assert_eq!((made.priority, made.group.as_deref()), (5, Some("night")));
        assert_eq!((made.deadline_remaining_ms, made.not_before_ms), (Some(3_600_000), 0));
        assert_eq!((made.claimed_by, made.fence, made.claim_remaining_ms), (None, None, None));
        assert!(made.created_by.is_some());
        let claim = shop.claim(blue).unwrap();
        assert_eq!((claim.id, claim.state, claim.claims), (made.id, DispatchState::Spawned, 1));
        assert_eq!((claim.claimed_by.as_deref(), claim.claim_remaining_ms), (Some("Blue"), Some(60_000)));
        assert_eq!(shop.claim(&shop.team.green), None, "one winner");
        let started = shop.step(blue, "start_dispatch", &claim, &json!({})).unwrap();
        assert_eq!((&started["dispatch"]["state"], &started["dispatch"]["revision"]), (&json!("running"), &json!(3)));
        // Started is started.
        let again = shop.step(blue, "start_dispatch", &claim, &json!({})).unwrap();
        assert_eq!(again["dispatch"], started["dispatch"]);
        let report = json!({ "tokens": 70, "progress": "half way" });
        let reported = shop.step(blue, "report_dispatch", &claim, &report).unwrap();
        assert_eq!((&reported["dispatch"]["tokens"], &reported["dispatch"]["progress"]), (&json!(70), &json!("half way")));
        let same = shop.step(blue, "report_dispatch", &claim, &report).unwrap();
        assert_eq!(same["dispatch"]["revision"], 4, "nothing new is no event");
        shop.team.kit.clock.advance_us(30 * SECOND);
        let longer = shop.step(blue, "extend_dispatch", &claim, &json!({ "lease": "2m" })).unwrap();
        assert_eq!(longer["dispatch"]["claim_remaining_ms"], 120_000);
        let shorter = shop.step(blue, "extend_dispatch", &claim, &json!({ "lease": "1s" })).unwrap();
        assert_eq!(shorter["dispatch"], longer["dispatch"], "never shortened");
        let end = json!({ "outcome": "completed", "verdict": "pass", "summary": "all green", "result": { "files": ["a"], "n": 1.5 } });
        let done = shop.step(blue, "finish_dispatch", &claim, &end).unwrap();
        let done = shown(done["dispatch"].clone());
        assert_eq!((done.state, done.summary.as_str(), done.revision), (DispatchState::Completed, "all green", 6));
        assert_eq!(done.result, Some(end["result"].clone()));
        assert_eq!((done.claim_remaining_ms, done.deadline_remaining_ms), (None, None));
        assert!(done.settled_at.is_some() && done.started_at.is_some());
        assert_eq!(shop.get(done.id), done);
        // Lists show the beginning, and no result.
        shop.create(&json!({ "prompt": "é".repeat(300) }));
        let list = shop.call(chief, "list_dispatches", &json!({})).unwrap();
        let items = list["items"].as_array().unwrap();
        assert_eq!(items.len(), 2);
        assert_eq!((&items[0]["prompt"], &items[1]["result"]), (&json!("é".repeat(200)), &json!(null)));
    }

    // H1: a first report or finish begins
    fn a_first_word_from_the_worker_begins(engine) {
        let shop = Shop::new(engine);
        let blue = &shop.team.blue;
        let claim = shop.claimed(blue, &json!({}));
        let reported = shop.step(blue, "report_dispatch", &claim, &json!({ "progress": "a" })).unwrap();
        assert_eq!((&reported["dispatch"]["state"], &reported["dispatch"]["revision"]), (&json!("running"), &json!(4)));
        let claim = shop.claimed(blue, &json!({}));
        let failed = shop.finish(blue, &claim, "failed").unwrap();
        assert_eq!((&failed["dispatch"]["state"], &failed["dispatch"]["revision"]), (&json!("failed"), &json!(4)));
        assert_eq!((shop.count("dispatch_started"), shop.count("dispatch_finished")), (2, 1));
    }

    // H4: the same report is a replay, another one comes too late
    fn a_report_counts_once(engine) {
        let shop = Shop::new(engine);
        let (blue, operator) = (&shop.team.blue, &Actor::OPERATOR);
        let claim = shop.claimed(blue, &json!({}));
        let end = json!({ "outcome": "completed", "verdict": "pass", "summary": "s", "result": [1] });
        let first = shop.step(blue, "finish_dispatch", &claim, &end).unwrap();
        let head = *shop.team.kit.kernel().head().borrow();
        let again = shop.step(blue, "finish_dispatch", &claim, &end).unwrap();
        assert_eq!(again["dispatch"], first["dispatch"]);
        let by_operator = with(json!({ "id": claim.id, "expected_revision": 2 }), &end);
        assert_eq!(shop.call(operator, "finish_dispatch", &by_operator).unwrap()["dispatch"], first["dispatch"]);
        for other in [
            json!({ "outcome": "failed" }),
            json!({ "verdict": "warn" }),
            json!({ "summary": "t" }),
            json!({ "result": [2] }),
            json!({ "result": null }),
        ] {
            let other = with(end.clone(), &other);
            let refused = shop.step(blue, "finish_dispatch", &claim, &other).unwrap_err();
            assert_eq!(refused.code().word, "already_settled", "{other}");
            assert_eq!(refused.to_json()["state"], "completed");
        }
        assert_eq!(code(shop.finish(&shop.team.green, &claim, "completed")), "not_holder");
        let bare = with(end.clone(), &json!({ "id": claim.id }));
        assert_eq!(field(&shop.call(blue, "finish_dispatch", &bare)), "fence");
        // The other steps are for what is open.
        for operation in ["start_dispatch", "extend_dispatch"] {
            assert_eq!(code(shop.step(blue, operation, &claim, &json!({}))), "illegal_transition");
        }
        assert_eq!(code(shop.step(blue, "report_dispatch", &claim, &json!({ "tokens": 1 }))), "illegal_transition");
        assert_eq!(*shop.team.kit.kernel().head().borrow(), head, "nothing was written");
    }

    // H4: also after a cancel and a time-out
    fn a_report_comes_too_late_after_any_end(engine) {
        let shop = Shop::new(engine);
        let blue = &shop.team.blue;
        let claim = shop.claimed(blue, &json!({}));
        let cancel = json!({ "id": claim.id, "expected_revision": 2, "reason": "no need" });
        let cancelled = shop.call(&shop.chief, "cancel_dispatch", &cancel).unwrap();
        assert_eq!((&cancelled["dispatch"]["state"], &cancelled["dispatch"]["reason"]), (&json!("cancelled"), &json!("no need")));
        assert_eq!(code(shop.finish(blue, &claim, "completed")), "already_settled");
        let claim = shop.claimed(blue, &json!({ "deadline": "10s" }));
        shop.pass(10 * SECOND);
        assert_eq!(shop.get(claim.id).state, DispatchState::TimedOut);
        assert_eq!(code(shop.finish(blue, &claim, "failed")), "already_settled");
    }

    // 3.2: a deadline is a fact of the clock; whoever comes first writes it down
    fn a_deadline_needs_nobody_to_write_it_down(engine) {
        let shop = Shop::new(engine);
        let blue = &shop.team.blue;
        let report = json!({ "tokens": 1 });
        let late = [("finish_dispatch", json!({ "outcome": "completed" }), "already_settled"),
            ("start_dispatch", json!({}), "illegal_transition"),
            ("extend_dispatch", json!({}), "illegal_transition"),
            ("report_dispatch", report, "illegal_transition")];
        for (operation, more, word) in late {
            let claim = shop.claimed(blue, &json!({ "deadline": "10s" }));
            shop.team.kit.clock.advance_us(10 * SECOND);
            assert_eq!(code(shop.step(blue, operation, &claim, &more)), word, "{operation}");
            assert_eq!(shop.get(claim.id).state, DispatchState::TimedOut);
        }
        let waiting = shop.create(&json!({ "deadline": "10s" }));
        shop.team.kit.clock.advance_us(10 * SECOND);
        let cancel = json!({ "id": waiting.id, "expected_revision": 1 });
        assert_eq!(code(shop.call(&shop.chief, "cancel_dispatch", &cancel)), "illegal_transition");
        let waiting = shop.create(&json!({ "deadline": "10s" }));
        shop.team.kit.clock.advance_us(10 * SECOND);
        assert_eq!(shop.claim(blue), None);
        assert_eq!(shop.get(waiting.id).state, DispatchState::TimedOut);
        assert_eq!(shop.count("dispatch_timed_out"), 6);
    }

    // H2 F9: the claimant by its fence, the operator by the revision, nobody else
    fn a_step_is_for_who_knows_the_claim(engine) {
        let shop = Shop::new(engine);
        let (blue, green, operator) = (&shop.team.blue, &shop.team.green, &Actor::OPERATOR);
        let claim = shop.claimed(blue, &json!({}));
        let steps = [("start_dispatch", json!({})), ("extend_dispatch", json!({})),
            ("report_dispatch", json!({ "tokens": 1 })), ("finish_dispatch", json!({ "outcome": "failed" }))];
        let ask = |who: &Actor, operation: &str, more: &Value, known: Value| {
            shop.call(who, operation, &with(with(json!({ "id": claim.id }), more), &known))
        };
        for (operation, more) in &steps {
            assert_eq!(field(&ask(blue, operation, more, json!({}))), "fence");
            assert_eq!(code(ask(blue, operation, more, json!({ "fence": 1 }))), "lease_expired");
            assert_eq!(code(ask(blue, operation, more, json!({ "fence": claim.fence, "expected_revision": 1 }))), "version_conflict");
            assert_eq!(code(ask(green, operation, more, json!({ "fence": claim.fence }))), "not_holder");
            assert_eq!(code(ask(&shop.chief, operation, more, json!({}))), "not_holder");
            assert_eq!(code(ask(&shop.team.far, operation, more, json!({ "fence": claim.fence }))), "not_found");
            assert_eq!(field(&ask(operator, operation, more, json!({}))), "expected_revision");
            assert_eq!(code(ask(operator, operation, more, json!({ "expected_revision": 9 }))), "version_conflict");
            assert_eq!(code(ask(operator, operation, more, json!({ "expected_revision": 2, "fence": 1 }))), "lease_expired");
        }
        assert_eq!(shop.get(claim.id).revision, 2);
        let mut revision = 2;
        for (operation, more) in &steps {
            let more = with(more.clone(), &json!({ "lease": "5m" }));
            let more = if *operation == "extend_dispatch" { more } else { with(more, &json!({})) };
            let mut more = more;
            if *operation != "extend_dispatch" {
                more.as_object_mut().unwrap().remove("lease");
            }
            let done = ask(operator, operation, &more, json!({ "expected_revision": revision })).unwrap();
            revision = done["dispatch"]["revision"].as_i64().unwrap();
        }
        assert_eq!((shop.get(claim.id).state, revision), (DispatchState::Failed, 6));
        // What the operator claims is in its own hands.
        shop.create(&json!({}));
        let wish = json!({ "project": "web", "agent_kinds": ["coder"] });
        let own = shown(shop.call(operator, "claim_dispatch", &wish).unwrap()["dispatch"].clone());
        assert_eq!((own.claimed_by.as_deref(), own.claimant_id), (Some("operator"), None));
        assert_eq!(own.claim_remaining_ms, Some(300_000), "five minutes unless said");
        let by_revision = json!({ "id": own.id, "expected_revision": 2 });
        assert_eq!(field(&shop.call(operator, "start_dispatch", &by_revision)), "fence");
        assert_eq!(code(shop.step(blue, "start_dispatch", &own, &json!({}))), "not_holder");
        shop.step(operator, "start_dispatch", &own, &json!({})).unwrap();
    }

    // BEHAVIOUR: tokens only grow, and belong to the run
    fn tokens_only_grow_and_count_for_the_run(engine) {
        let shop = Shop::new(engine);
        let blue = &shop.team.blue;
        let run = shop.run(1, &json!({}));
        let claim = shop.claimed(blue, &json!({ "run": run }));
        assert_eq!(claim.phase.as_deref(), Some("planned"));
        let report = |more: Value| shop.step(blue, "report_dispatch", &claim, &more);
        report(json!({ "tokens": 10 })).unwrap();
        report(json!({ "tokens": 25, "progress": "p" })).unwrap();
        assert_eq!(field(&report(json!({ "tokens": 24 }))), "tokens");
        assert_eq!(field(&report(json!({ "tokens": -1 }))), "tokens");
        assert_eq!(field(&report(json!({ "tokens": 1_000_000_000_000_001_i64 }))), "tokens");
        assert_eq!(field(&report(json!({ "progress": "two\nlines" }))), "progress");
        assert_eq!(field(&report(json!({}))), "progress");
        assert_eq!(shop.team.kit.shell("select tokens from run").unwrap(), "25");
    }

    // G4: a verdict counts for the phase it was made in, also while the run rests, and for no later one
    fn a_verdict_counts_for_its_phase_only(engine) {
        let shop = Shop::new(engine);
        let blue = &shop.team.blue;
        let run = shop.run(1, &json!({}));
        let [in_time, late, resting] = [(); 3].map(|()| shop.claimed(blue, &json!({ "run": run })));
        let end = json!({ "outcome": "completed", "verdict": "pass", "summary": "s" });
        shop.step(blue, "finish_dispatch", &in_time, &end).unwrap();
        shop.steer("run_paused", run);
        shop.step(blue, "finish_dispatch", &resting, &end).unwrap();
        shop.steer("run_resumed", run);
        shop.happens("run_advanced", json!({
            "id": run, "project": 1, "from": "planned", "to": "built", "position": 1,
            "completed": false, "gate": [], "note": null,
        }));
        shop.step(blue, "finish_dispatch", &late, &end).unwrap();
        let verdicts = shop.team.kit.shell("select phase, verdict, dispatch_id from verdict order by id").unwrap();
        assert_eq!(verdicts, format!("planned|pass|{}\nplanned|pass|{}", in_time.id, resting.id));
    }

    // G4: another attempt at the work of an earlier phase says nothing about the present one
    fn a_retry_stays_with_its_phase(engine) {
        let shop = Shop::new(engine);
        let blue = &shop.team.blue;
        let run = shop.run(1, &json!({}));
        let failed = shop.claimed(blue, &json!({ "run": run }));
        shop.step(blue, "finish_dispatch", &failed, &json!({ "outcome": "failed" })).unwrap();
        shop.happens("run_advanced", json!({
            "id": run, "project": 1, "from": "planned", "to": "built", "position": 1,
            "completed": false, "gate": [], "note": null,
        }));
        let again = shop.team.call(&shop.chief, "retry_dispatch", &json!({ "id": failed.id })).unwrap();
        assert_eq!(again["dispatch"]["phase"], "planned");
    }

    // E5: making and giving up is for orchestrators; everything is in sight of its project alone
    fn work_is_in_sight_of_its_project_alone(engine) {
        let shop = Shop::new(engine);
        let (blue, far) = (&shop.team.blue, &shop.team.far);
        let made = shop.create(&json!({ "group": "g" }));
        let id = json!({ "id": made.id });
        let cancel = with(id.clone(), &json!({ "expected_revision": 1 }));
        assert_eq!(code(shop.call(blue, "create_dispatch", &wish(&json!({})))), "forbidden");
        assert_eq!(code(shop.call(blue, "cancel_dispatch", &cancel)), "forbidden");
        assert_eq!(code(shop.call(blue, "retry_dispatch", &id)), "forbidden");
        assert_eq!(code(shop.call(far, "get_dispatch", &id)), "not_found");
        assert_eq!(shop.call(far, "list_dispatches", &json!({})).unwrap()["items"], json!([]));
        assert_eq!(code(shop.call(far, "group_outcome", &json!({ "group": "g" }))), "not_found");
        assert_eq!(shop.claim(far), None);
        assert_eq!(code(shop.call(far, "list_dispatches", &json!({ "project": "web" }))), "not_found");
        assert_eq!(code(shop.call(&shop.chief, "cancel_dispatch", &json!({ "id": 99, "expected_revision": 1 }))), "not_found");
        assert_eq!(code(shop.call(&shop.chief, "cancel_dispatch", &with(id, &json!({ "expected_revision": 2 })))), "version_conflict");
    }

    // C2: repeated with the same key, each takes effect once
    fn repeated_with_a_key_each_takes_effect_once(engine) {
        let shop = Shop::new(engine);
        let (kit, blue, chief) = (&shop.team.kit, &shop.team.blue, &shop.chief);
        let twice = |who: &Actor, operation: &str, request: &Value| {
            let first = kit.call(keyed(who), operation, request).unwrap();
            let again = kit.call(keyed(who), operation, request).unwrap();
            assert_eq!(first, again, "{operation}");
            shown(first["dispatch"].clone())
        };
        // What did nothing may be tried again with the same key.
        let kinds = json!({ "agent_kinds": ["coder"] });
        assert_eq!(kit.call(keyed(blue), "claim_dispatch", &kinds).unwrap()["dispatch"], json!(null));
        twice(chief, "create_dispatch", &wish(&json!({})));
        let claim = twice(blue, "claim_dispatch", &kinds);
        assert_eq!(claim.claims, 1);
        let known = json!({ "id": claim.id, "fence": claim.fence });
        twice(blue, "start_dispatch", &known);
        twice(blue, "extend_dispatch", &with(known.clone(), &json!({ "lease": "10m" })));
        twice(blue, "report_dispatch", &with(known.clone(), &json!({ "tokens": 5 })));
        twice(blue, "finish_dispatch", &with(known, &json!({ "outcome": "failed" })));
        let retried = twice(chief, "retry_dispatch", &json!({ "id": claim.id }));
        twice(chief, "cancel_dispatch", &json!({ "id": retried.id, "expected_revision": 1 }));
        assert_eq!(kit.shell("select count(*) from dispatch").unwrap(), "2");
    }

    // H2 H4: of two who take the same step at once, one does
    fn of_two_at_once_one_does(engine) {
        let shop = Shop::new(engine);
        let (kernel, blue) = (shop.team.kit.kernel(), &shop.team.blue);
        let claim = shop.claimed(blue, &json!({}));
        let finish = |outcome: Outcome| -> FinishDispatch {
            request(&json!({ "id": claim.id, "fence": claim.fence, "outcome": outcome }))
        };
        let first = kernel.execute(blue.clone().into(), finish(Outcome::Completed));
        let second = kernel.execute(blue.clone().into(), finish(Outcome::Failed));
        assert_eq!(first.wait().unwrap().answer.dispatch.state, DispatchState::Completed);
        assert_eq!(second.wait().unwrap_err().code().word, "already_settled");
        let made = shop.create(&json!({}));
        let cancel = || -> CancelDispatch { request(&json!({ "id": made.id, "expected_revision": 1 })) };
        let first = kernel.execute(Actor::OPERATOR.into(), cancel());
        let second = kernel.execute(shop.chief.clone().into(), cancel());
        assert!(first.wait().is_ok());
        assert_eq!(second.wait().unwrap_err().code().word, "illegal_transition");
    }
}
