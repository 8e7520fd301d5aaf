//! Override, skip, roll back, pause, cancel, fail, update.

use super::*;

both_engines! {
    // the operator moves a run whatever its gate says, and what it said stays known
    fn an_override_records_what_it_went_against(engine) {
        let team = Team::new(engine);
        let checks = json!([{ "check": "verdict_exists" }]);
        let run = team.run(&gated("a", &checks, &checks));
        let moved = team.steer("override_gate", run, &json!({ "reason": "we ship today" })).unwrap();
        assert_eq!((&moved["run"]["phase"], &moved["gate"]["passes"]), (&json!("work"), &json!(false)));
        let stale = json!({ "reason": "again", "expected_phase": "plan" });
        assert_eq!(code(team.steer("override_gate", run, &stale)), "stale_phase");
        let last = team.steer("override_gate", run, &json!({ "reason": "still" })).unwrap();
        assert_eq!(last["run"], team.status(run)["run"]);
        assert_eq!(last["run"]["state"], "completed");
        let timeline = team.steer("run_timeline", run, &json!({})).unwrap();
        assert_eq!(
            timeline["items"][1]["text"],
            "overridden, moved from plan to work, against verdict_exists (no verdict in `plan`): \
             we ship today"
        );
    }

    // a skip jumps a phase, not its gates
    fn a_skipped_phase_keeps_its_gates(engine) {
        let team = Team::new(engine);
        let run = team.run(&json!({
            "goal": "g", "phases": ["a", "b", "c", "d"],
            "gates": {
                "a->b": [{ "check": "verdict_exists" }],
                "b->c": [{ "check": "artifact_exists", "phase": "b" }],
                "c->d": [],
            },
        }));
        let skip = |phase: &str| team.steer("skip_phase", run, &json!({ "phase": phase, "reason": "r" }));
        skip("b").unwrap();
        assert_eq!(skip("b").unwrap()["run"]["revision"], 2, "twice is once");
        for wrong in ["a", "d", "x"] {
            assert_eq!(code(skip(wrong)), "invalid", "{wrong}");
        }
        let refused = team.advance(run).unwrap_err().to_json();
        assert_eq!(refused["to"], "c");
        let steps: Vec<_> = refused["checks"].as_array().unwrap().iter().map(|check| &check["step"]).collect();
        assert_eq!(steps, ["a->b", "b->c"], "every step it jumps");
        team.artifact(run, "b");
        assert_eq!(code(team.advance(run)), "gate_refused", "the first step's gate counts, too");
        team.steer("record_verdict", run, &json!({ "verdict": "pass" })).unwrap();
        assert_eq!(team.advance(run).unwrap()["run"]["phase"], "c");
        assert_eq!(team.status(run)["skipped"], json!({ "b": "r" }));
    }

    // roll-back withdraws what it undoes, so that no gate passes on stale evidence
    fn a_roll_back_withdraws_what_it_undoes(engine) {
        let team = Team::new(engine);
        let run = team.run(&json!({
            "goal": "g", "phases": ["a", "b", "c", "d"],
            "gates": {
                "a->b": [{ "check": "artifact_exists", "phase": "a" }, { "check": "approval", "role": "operator" }],
                "b->c": [{ "check": "verdict_exists" }],
                "c->d": [{ "check": "artifact_exists", "phase": "c" }],
            },
        }));
        let approve = || team.steer("approve", run, &json!({ "phase": "a" })).unwrap();
        let verdict = || team.steer("record_verdict", run, &json!({ "verdict": "pass" })).unwrap();
        let kept = team.artifact(run, "a");
        approve();
        team.advance(run).unwrap();
        verdict();
        team.advance(run).unwrap();
        let undone = team.artifact(run, "c");
        let back = json!({ "to_phase": "a", "reason": "wrong idea" });
        let rolled = team.steer("roll_back_run", run, &back).unwrap();
        assert_eq!(rolled["run"]["phase"], "a");
        assert_eq!(rolled["withdrawn_artifacts"], json!([undone]));
        assert_eq!(rolled["withdrawn_verdicts"], json!([1]));
        assert_eq!(rolled["withdrawn_approvals"], json!([1]));
        assert_eq!(passed(&team.steer("check_gate", run, &json!({})).unwrap()), [true, false]);
        assert_eq!(team.steer("list_artifacts", run, &json!({})).unwrap()["items"][0]["id"], kept);
        approve();
        team.advance(run).unwrap();
        assert_eq!(code(team.advance(run)), "gate_refused", "the verdict of last time counts no more");
        verdict();
        team.advance(run).unwrap();
        assert_eq!(code(team.advance(run)), "gate_refused", "nor does the artifact");
        for wrong in ["c", "d", "x"] {
            let back = json!({ "to_phase": wrong, "reason": "r" });
            assert_eq!(code(team.steer("roll_back_run", run, &back)), "invalid", "{wrong}");
        }
    }

    // a completed run is open again; a cancelled one is not
    fn a_roll_back_opens_what_was_completed(engine) {
        let team = Team::new(engine);
        let run = team.free_run();
        team.advance(run).unwrap();
        team.steer("skip_phase", run, &json!({ "phase": "done", "reason": "r" })).unwrap_err();
        team.advance(run).unwrap();
        let back = json!({ "to_phase": "plan", "reason": "r", "expected_phase": "done" });
        let rolled = team.steer("roll_back_run", run, &back).unwrap();
        assert_eq!((&rolled["run"]["state"], &rolled["run"]["ended_at"]), (&json!("active"), &Value::Null));
        team.steer("fail_run", run, &json!({ "reason": "no" })).unwrap();
        let again = json!({ "to_phase": "plan", "reason": "try again" });
        assert_eq!(team.steer("roll_back_run", run, &again).unwrap()["run"]["state"], "active");
        team.steer("cancel_run", run, &json!({})).unwrap();
        assert_eq!(code(team.steer("roll_back_run", run, &again)), "illegal_transition");
    }

    // later skips are cleared, earlier ones are history
    fn a_roll_back_clears_later_skips(engine) {
        let team = Team::new(engine);
        let run = team.run(&json!({
            "goal": "g", "phases": ["a", "b", "c", "d"],
            "gates": { "a->b": [], "b->c": [], "c->d": [] },
        }));
        team.advance(run).unwrap();
        team.steer("skip_phase", run, &json!({ "phase": "c", "reason": "r" })).unwrap();
        let back = json!({ "to_phase": "a", "reason": "r" });
        team.steer("roll_back_run", run, &back).unwrap();
        assert_eq!(team.status(run)["skipped"], json!({}));
    }

    fn a_paused_run_rests(engine) {
        let team = Team::new(engine);
        let run = team.free_run();
        let paused = team.steer("pause_run", run, &json!({ "reason": "lunch" })).unwrap();
        assert_eq!(paused["run"]["state"], "paused");
        assert_eq!(team.steer("pause_run", run, &json!({})).unwrap()["run"], paused["run"]);
        for operation in ["advance_run", "check_gate"] {
            assert_eq!(code(team.steer(operation, run, &json!({}))), "illegal_transition");
        }
        assert_eq!(code(team.steer("override_gate", run, &json!({ "reason": "r" }))), "illegal_transition");
        assert_eq!(team.steer("resume_run", run, &json!({})).unwrap()["run"]["state"], "active");
        team.advance(run).unwrap();
    }

    // G6: cancelling ends what belongs to the run, once
    fn a_cancelled_run_takes_its_leases_with_it(engine) {
        let team = Team::new(engine);
        let run = team.free_run();
        let reserve = json!({ "paths": ["a.md"], "run": run });
        let held = team.call(&team.blue, "reserve_files", &reserve).unwrap();
        let lock = json!({ "name": "port", "run": run });
        team.call(&team.green, "acquire_lock", &lock).unwrap();
        team.call(&team.green, "reserve_files", &json!({ "paths": ["b.md"] })).unwrap();
        let cancelled = team.steer("cancel_run", run, &json!({ "reason": "no money" })).unwrap();
        assert_eq!(cancelled["cancelled_runs"], json!([run]));
        assert_eq!(cancelled["ended_leases"].as_array().unwrap().len(), 2);
        let id = held["reservations"][0]["id"].clone();
        let lease = team.call(&team.blue, "get_reservation", &json!({ "id": id })).unwrap();
        assert_eq!(lease["reservation"]["ended"], "forced");
        let again = team.steer("cancel_run", run, &json!({})).unwrap();
        assert_eq!((&again["cancelled_runs"], &again["ended_leases"]), (&json!([]), &json!([])));
        assert_eq!(code(team.call(&team.blue, "reserve_files", &reserve)), "illegal_transition");
        assert_eq!(code(team.steer("fail_run", run, &json!({}))), "illegal_transition");
        let unknown = json!({ "paths": ["c.md"], "run": 99 });
        let unknown = team.call(&team.blue, "reserve_files", &unknown).unwrap_err().to_json();
        assert_eq!(unknown["field"], "run");
    }

    fn an_update_keeps_what_it_does_not_name(engine) {
        let team = Team::new(engine);
        let mut request = free("old");
        request["token_budget"] = json!(100);
        request["metadata"] = json!({ "a": 1, "b": { "c": 2 } });
        let run = team.run(&request);
        let update = |revision: i64, more: Value| {
            let mut request = more;
            request["expected_revision"] = json!(revision);
            team.steer("update_run", run, &request)
        };
        let updated = update(1, json!({ "metadata": { "a": null, "d": 4 } })).unwrap();
        assert_eq!(updated["run"]["metadata"], json!({ "b": { "c": 2 }, "d": 4 }));
        assert_eq!((&updated["run"]["goal"], &updated["run"]["token_budget"]), (&json!("old"), &json!(100)));
        let conflict = update(1, json!({ "goal": "new" })).unwrap_err().to_json();
        assert_eq!((&conflict["error"], &conflict["present"]), (&json!("version_conflict"), &json!(2)));
        let same = update(2, json!({ "goal": "old" })).unwrap();
        assert_eq!(same["run"]["revision"], 2);
        let cleared = update(2, json!({ "goal": "new", "token_budget": null, "max_dispatches": 3 })).unwrap();
        assert_eq!((&cleared["run"]["token_budget"], &cleared["run"]["max_dispatches"]), (&Value::Null, &json!(3)));
        assert_eq!(code(update(3, json!({ "token_budget": -5 }))), "invalid");
        assert_eq!(code(team.steer("update_run", run, &json!({ "goal": "x" }))), "invalid");
    }

    fn an_agent_takes_part_once_at_a_time(engine) {
        let team = Team::new(engine);
        let run = team.free_run();
        let add = || team.call(&team.blue, "add_run_agent", &json!({ "run": run, "agent": "Blue", "role": "writer" }));
        let finish = |outcome: &str| {
            team.call(&team.blue, "finish_run_agent", &json!({ "run": run, "agent": "Blue", "outcome": outcome }))
        };
        let first = add().unwrap();
        assert_eq!(add().unwrap()["run_agent"], first["run_agent"]);
        finish("failed").unwrap();
        finish("failed").unwrap();
        assert_eq!(code(finish("completed")), "illegal_transition");
        add().unwrap();
        assert_eq!(team.status(run)["agents_active"], 1);
        let page = team.steer("list_run_agents", run, &json!({})).unwrap();
        assert_eq!((&page["items"][0]["name"], &page["items"][0]["active"]), (&json!("Blue"), &json!(true)));
        let retired = json!({ "project": "web", "agent": "Blue" });
        team.call(&BOSS, "retire_agent", &retired).unwrap();
        let green = json!({ "run": run, "agent": "Blue" });
        assert_eq!(code(team.call(&BOSS, "add_run_agent", &green)), "agent_retired");
    }

    fn artifacts_are_withdrawn_by_those_who_may(engine) {
        let team = Team::new(engine);
        let checks = json!([{ "check": "artifact_exists", "phase": "plan" }]);
        let run = team.run(&gated("a", &checks, &json!([])));
        let artifact = team.artifact(run, "plan");
        let withdraw = |who: &Actor| {
            team.call(who, "withdraw_artifact", &json!({ "run": run, "artifact": artifact, "reason": "r" }))
        };
        assert_eq!(code(withdraw(&team.green)), "forbidden");
        let gone = withdraw(&team.blue).unwrap();
        assert!(gone["artifact"]["withdrawn_at"].is_string());
        assert_eq!(withdraw(&BOSS).unwrap()["artifact"], gone["artifact"], "twice is once");
        assert_eq!(code(team.advance(run)), "gate_refused");
    }

    // a skipped phase can be given all its evidence, judgements too
    fn a_skipped_phase_can_be_judged(engine) {
        let team = Team::new(engine);
        let run = team.run(&json!({
            "goal": "g", "phases": ["a", "b", "c", "d"],
            "gates": {
                "a->b": [],
                "b->c": [{ "check": "verdict_exists" }, { "check": "approval", "role": "operator" }],
                "c->d": [],
            },
        }));
        let of_b = json!({ "verdict": "pass", "phase": "b" });
        assert_eq!(code(team.steer("record_verdict", run, &of_b)), "stale_phase");
        team.steer("skip_phase", run, &json!({ "phase": "b", "reason": "r" })).unwrap();
        assert_eq!(code(team.advance(run)), "gate_refused");
        team.steer("record_verdict", run, &of_b).unwrap();
        team.steer("approve", run, &json!({ "phase": "b" })).unwrap();
        for away in ["c", "d"] {
            assert_eq!(code(team.steer("approve", run, &json!({ "phase": away }))), "stale_phase", "{away}");
        }
        assert_eq!(team.advance(run).unwrap()["run"]["phase"], "c");
    }

    // G4: a budget that is enforced is not made soft by a gate that names it so
    fn an_enforced_budget_stays_hard(engine) {
        let team = Team::new(engine);
        let run = team.run(&json!({
            "goal": "g", "phases": ["a", "b"], "token_budget": 0, "budget_enforced": true,
            "gates": { "a->b": [{ "check": "budget_not_exceeded", "tier": "soft" }] },
        }));
        let gate = team.steer("check_gate", run, &json!({})).unwrap();
        let tiers: Vec<_> = gate["checks"].as_array().unwrap().iter().map(|check| check["rule"]["tier"].clone()).collect();
        assert_eq!(tiers, [json!("soft"), json!("hard")]);
    }

    fn a_run_holds_as_many_leases_as_can_end_with_it(engine) {
        let team = Team::new(engine);
        let run = team.free_run();
        let wide = json!({ "project": "web", "leases_per_agent": 5_000 });
        team.call(&BOSS, "update_project", &wide).unwrap();
        let reserve = |from: usize, count: usize| {
            let paths: Vec<_> = (from..from + count).map(|n| format!("f{n}")).collect();
            team.call(&team.blue, "reserve_files", &json!({ "paths": paths, "run": run }))
        };
        for part in 0..20 {
            reserve(part * 50, 50).unwrap();
        }
        assert_eq!(code(reserve(1_000, 1)), "limit_exceeded");
        let cancelled = team.steer("cancel_run", run, &json!({})).unwrap();
        assert_eq!(cancelled["ended_leases"].as_array().unwrap().len(), 1_000);
    }
}
