//! Bad input: each is told what is wrong, and nothing is lost.

use super::*;

both_engines! {
    // H7
    fn a_run_that_cannot_be_is_refused_by_its_field(engine) {
        let team = Team::new(engine);
        let ab = json!(["a", "b"]);
        let long: Vec<_> = (0..65).map(|n| format!("p{n}")).collect();
        let rules = |rule: Value| json!({ "goal": "g", "phases": ab, "gates": { "a->b": [rule] } });
        let cases = [
            ("goal", json!({ "goal": " " })),
            ("goal", json!({ "goal": "g\u{0}" })),
            ("goal", json!({})),
            ("phases", json!({ "goal": "g", "phases": ["a"] })),
            ("phases", json!({ "goal": "g", "phases": [] })),
            ("phases", json!({ "goal": "g", "phases": ["a", "b", "a"] })),
            ("phases", json!({ "goal": "g", "phases": long })),
            ("phases[1]", json!({ "goal": "g", "phases": ["a", "B c"] })),
            ("gates", json!({ "goal": "g", "phases": ab })),
            ("gates", json!({ "goal": "g", "phases": ab, "gates": {} })),
            ("gates", json!({ "goal": "g", "phases": ab, "gates": { "a->b": [], "b->a": [] } })),
            ("gates", json!({ "goal": "g", "gates": { "brainstorm->done": [] } })),
            ("gates", rules(json!({ "check": "artifact_exists", "phase": "x" }))),
            ("token_budget", json!({ "goal": "g", "token_budget": -1 })),
            ("max_dispatches", json!({ "goal": "g", "max_dispatches": 0 })),
            ("max_per_kind", json!({ "goal": "g", "max_per_kind": { "x": -1 } })),
            ("budget_enforced", json!({ "goal": "g", "budget_enforced": true })),
            ("metadata", json!({ "goal": "g", "metadata": { "k": "x".repeat(20_000) } })),
            ("children[0].gates", json!({ "goal": "g", "children": [{ "goal": "c", "phases": ab }] })),
            ("colour", json!({ "goal": "g", "colour": "red" })),
        ];
        for (field, mut request) in cases {
            request["project"] = json!("web");
            let error = team.call(&BOSS, "create_run", &request).unwrap_err().to_json();
            assert_eq!((&error["error"], &error["field"]), (&json!("invalid"), &json!(field)), "{request}");
        }
        for rule in [
            json!({ "check": "artifact_exist" }),
            json!({ "check": "approval" }),
            json!({ "check": "agents_complete", "phase": "a" }),
            json!({ "check": "agents_complete", "tier": "firm" }),
        ] {
            let mut request = rules(rule);
            request["project"] = json!("web");
            assert_eq!(code(team.call(&BOSS, "create_run", &request)), "invalid", "{request}");
        }
        let none = team.call(&BOSS, "list_runs", &json!({ "project": "web" })).unwrap();
        assert_eq!(none["items"], json!([]));
    }

    // a slip in a check's name is told what was meant
    fn an_unknown_check_is_told_a_near_one(engine) {
        let team = Team::new(engine);
        let request = gated("g", &json!([{ "check": "artifact_exist", "phase": "plan" }]), &json!([]));
        let error = team.call(&BOSS, "create_run", &request).unwrap_err().to_json();
        assert!(error["message"].as_str().unwrap().contains("artifact_exists"), "{error}");
    }

    // G2: evidence is for the phase that the run is in
    fn evidence_of_another_phase_is_refused(engine) {
        let team = Team::new(engine);
        let run = team.free_run();
        let add = |phase: &str| {
            let request = json!({ "run": run, "phase": phase, "kind": "k", "path": "a.md" });
            team.call(&team.blue, "add_artifact", &request)
        };
        let approve = |phase: &str| team.steer("approve", run, &json!({ "phase": phase }));
        assert_eq!(code(add("work")), "stale_phase");
        assert_eq!(code(add("nowhere")), "invalid");
        assert_eq!(code(approve("work")), "stale_phase");
        let verdict = json!({ "verdict": "pass", "phase": "work" });
        assert_eq!(code(team.steer("record_verdict", run, &verdict)), "stale_phase");
        add("plan").unwrap();
        team.advance(run).unwrap();
        assert_eq!(code(add("plan")), "stale_phase", "too late");
        let nothing = json!({ "phase": "work", "kind": "k" });
        let nothing = team.steer("add_artifact", run, &nothing).unwrap_err().to_json();
        assert_eq!((&nothing["error"], &nothing["field"]), (&json!("invalid"), &json!("path")));
        for path in ["../x", "/etc/passwd", "a\0b"] {
            let request = json!({ "phase": "work", "kind": "k", "path": path });
            assert_eq!(code(team.steer("add_artifact", run, &request)), "invalid", "{path:?}");
        }
        team.steer("pause_run", run, &json!({})).unwrap();
        assert_eq!(code(add("work")), "illegal_transition");
    }

    fn what_is_not_there_is_not_found(engine) {
        let team = Team::new(engine);
        let run = team.free_run();
        for operation in ["advance_run", "run_status", "check_gate", "run_timeline", "pause_run"] {
            assert_eq!(code(team.steer(operation, 99, &json!({}))), "not_found", "{operation}");
        }
        let withdraw = json!({ "artifact": 1 });
        assert_eq!(code(team.steer("withdraw_artifact", run, &withdraw)), "not_found");
        let other = team.free_run();
        let artifact = team.artifact(other, "plan");
        let withdraw = json!({ "artifact": artifact });
        assert_eq!(code(team.steer("withdraw_artifact", run, &withdraw)), "not_found", "of another run");
        let finish = json!({ "agent": "Blue", "outcome": "failed" });
        assert_eq!(code(team.steer("finish_run_agent", run, &finish)), "not_found");
        let parent = json!({ "project": "web", "goal": "g", "parent": 99 });
        assert_eq!(code(team.call(&BOSS, "create_run", &parent)), "not_found");
        let child = json!({ "project": "web", "goal": "g", "children": [{ "goal": "c", "project": "nowhere" }] });
        assert_eq!(code(team.call(&BOSS, "create_run", &child)), "not_found");
        assert_eq!(code(team.call(&team.blue, "current_run", &json!({ "project": "api" }))), "not_found");
    }
}
