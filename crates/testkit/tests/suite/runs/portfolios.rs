//! Parents, children, and runs that wait for each other.

use comity_domain::limits::CHILDREN_PER_CALL_MAX;

use super::*;

impl Team {
    /// Creates a parent of three free children, and returns its number and theirs.
    fn family(&self) -> (i64, Vec<i64>) {
        let child = free("child");
        let mut request = gated(
            "parent",
            &json!([{ "check": "children_at_phase", "phase": "work" }]),
            &json!([]),
        );
        let mut child = child;
        child["project"] = Value::Null;
        request["children"] = json!([child, child, child]);
        let created = self.call(&BOSS, "create_run", &request).unwrap();
        let children = created["children"].as_array().unwrap();
        let ids = children
            .iter()
            .map(|child| child["id"].as_i64().unwrap())
            .collect();
        (created["run"]["id"].as_i64().unwrap(), ids)
    }

    fn link(&self, upstream: i64, downstream: i64) -> Result<Value, Error> {
        self.call(
            &BOSS,
            "link_runs",
            &json!({ "upstream": upstream, "downstream": downstream }),
        )
    }
}

both_engines! {
    // G6: a gate over children reads all of them in the transaction that moves the parent
    fn a_parent_waits_for_its_children(engine) {
        let team = Team::new(engine);
        let (parent, children) = team.family();
        let refused = team.advance(parent).unwrap_err().to_json();
        assert_eq!(refused["checks"][0]["detail"], format!("child {} is active in `plan`, and 2 more", children[0]));
        team.advance(children[0]).unwrap();
        team.advance(children[1]).unwrap();
        team.steer("fail_run", children[2], &json!({})).unwrap();
        assert_eq!(code(team.advance(parent)), "gate_refused", "a failed child blocks");
        let back = json!({ "to_phase": "plan", "reason": "r" });
        team.steer("roll_back_run", children[2], &back).unwrap();
        team.steer("cancel_run", children[2], &json!({})).unwrap();
        let moved = team.advance(parent).unwrap();
        assert_eq!(moved["gate"]["checks"][0]["evidence"], json!([children[0], children[1]]));
    }

    fn all_children_or_none(engine) {
        let team = Team::new(engine);
        let mut request = free("parent");
        request["children"] = json!([{ "goal": "one" }, { "goal": "two", "phases": ["a"] }]);
        assert_eq!(code(team.call(&BOSS, "create_run", &request)), "invalid");
        request["children"] = json!([{ "goal": "one" }, { "goal": "two", "project": "nowhere" }]);
        assert_eq!(code(team.call(&BOSS, "create_run", &request)), "not_found");
        let all = team.call(&BOSS, "list_runs", &json!({})).unwrap();
        assert_eq!(all["items"], json!([]));
        request["children"] = json!([{ "goal": "one" }, { "goal": "far", "project": "api" }]);
        let created = team.call(&BOSS, "create_run", &request).unwrap();
        assert_eq!(created["children"][1]["project"], "api");
        let below = json!({ "parent": created["run"]["id"] });
        let below = team.call(&BOSS, "list_runs", &below).unwrap();
        assert_eq!(below["items"].as_array().unwrap().len(), 2);
    }

    // self-links, duplicates and circles are refused in the transaction that would make them
    fn links_make_no_circle(engine) {
        let team = Team::new(engine);
        let (parent, children) = team.family();
        let [a, b, c] = children[..] else { panic!("three children") };
        assert_eq!(code(team.link(a, a)), "cycle");
        team.link(c, b).unwrap();
        team.link(b, a).unwrap();
        assert_eq!(code(team.link(b, a)), "already_exists");
        assert_eq!(code(team.link(a, c)), "cycle");
        assert_eq!(code(team.link(parent, a)), "cycle", "its own parent");
        assert_eq!(code(team.link(a, parent)), "cycle", "its own child");
        assert_eq!(code(team.link(a, 99)), "not_found");
        let order = team.steer("portfolio_order", parent, &json!({})).unwrap();
        assert_eq!(order["order"], json!([c, b, a]));
        let unlink = json!({ "upstream": b, "downstream": a });
        team.call(&BOSS, "unlink_runs", &unlink).unwrap();
        assert_eq!(code(team.call(&BOSS, "unlink_runs", &unlink)), "not_found");
        let order = team.steer("portfolio_order", parent, &json!({})).unwrap();
        assert_eq!(order["order"], json!([a, c, b]));
    }

    // Q8: a parent waits for its children, and so does whoever waits for the parent
    fn a_circle_through_children_is_refused(engine) {
        let team = Team::new(engine);
        let (parent, children) = team.family();
        let other = team.free_run();
        team.link(other, children[0]).unwrap();
        assert_eq!(code(team.link(parent, other)), "cycle", "its child waits for the other");
        assert_eq!(code(team.link(children[0], other)), "cycle");
        team.link(children[1], other).unwrap();
        let last = team.free_run();
        team.link(parent, last).unwrap();
        assert_eq!(code(team.link(last, other)), "cycle", "through the parent and its child");
    }

    // Q8: whoever would wait for more than can be looked through is refused
    fn the_search_for_circles_has_a_bound(engine) {
        let team = Team::new(engine);
        let large = || {
            let root = team.free_run();
            let children = vec![json!({ "goal": "c" }); CHILDREN_PER_CALL_MAX];
            for _ in 0..11 {
                let part = json!({ "project": "web", "goal": "g", "parent": root, "children": children });
                team.call(&BOSS, "create_run", &part).unwrap();
            }
            root
        };
        let [first, second, third] = [large(), large(), large()];
        team.link(first, second).unwrap();
        team.link(second, third).unwrap();
        assert_eq!(code(team.link(third, team.free_run())), "limit_exceeded");
    }

    fn a_run_waits_for_what_it_is_linked_to(engine) {
        let team = Team::new(engine);
        let upstream = team.free_run();
        let checks = json!([{ "check": "upstreams_at_phase", "phase": "work" }]);
        let run = team.run(&gated("downstream", &checks, &json!([])));
        team.link(upstream, run).unwrap();
        assert_eq!(code(team.advance(run)), "gate_refused");
        team.advance(upstream).unwrap();
        team.advance(run).unwrap();
    }

    fn the_portfolio_is_told_in_one_answer(engine) {
        let team = Team::new(engine);
        let (parent, children) = team.family();
        team.link(children[1], children[0]).unwrap();
        team.advance(children[1]).unwrap();
        let told = team.steer("portfolio_status", parent, &json!({})).unwrap();
        assert_eq!(told["run"]["lacks"], json!([format!("child {} is active in `plan`, and 1 more", children[0])]));
        let order: Vec<_> = told["children"].as_array().unwrap().iter().map(|one| one["id"].as_i64().unwrap()).collect();
        assert_eq!(order, [children[1], children[0], children[2]]);
        assert_eq!(told["children"][0]["phase"], "work");
        assert_eq!(told["children"][1]["waits_for"], json!([children[1]]));
    }

    // cancelling names exactly what it changed, and repeating it changes nothing
    fn cancelling_a_parent_cancels_what_is_below_and_open(engine) {
        let team = Team::new(engine);
        let (parent, children) = team.family();
        team.steer("fail_run", children[1], &json!({})).unwrap();
        let mut request = free("grandchild");
        request["parent"] = json!(children[2]);
        let grandchild = team.run(&request);
        let cancelled = team.steer("cancel_run", parent, &json!({ "reason": "enough" })).unwrap();
        assert_eq!(cancelled["cancelled_runs"], json!([parent, children[0], children[2], grandchild]));
        assert_eq!(team.status(children[1])["run"]["state"], "failed");
        let again = team.steer("cancel_run", parent, &json!({})).unwrap();
        assert_eq!(again["cancelled_runs"], json!([]));
        assert_eq!(again["run"], cancelled["run"]);
        assert_eq!(code(team.call(&BOSS, "create_run", &request)), "illegal_transition");
    }

    fn a_portfolio_has_a_depth(engine) {
        let team = Team::new(engine);
        let mut run = team.free_run();
        for _ in 1..16 {
            let mut request = free("deeper");
            request["parent"] = json!(run);
            run = team.run(&request);
        }
        let mut request = free("too deep");
        request["parent"] = json!(run);
        assert_eq!(code(team.call(&BOSS, "create_run", &request)), "limit_exceeded");
    }

    // G6: what has ended is not opened again from below
    fn a_child_of_an_ended_parent_stays_closed(engine) {
        let team = Team::new(engine);
        let (parent, children) = team.family();
        team.advance(children[0]).unwrap();
        team.advance(children[0]).unwrap();
        team.steer("fail_run", children[1], &json!({})).unwrap();
        team.steer("cancel_run", parent, &json!({})).unwrap();
        let back = json!({ "to_phase": "plan", "reason": "r" });
        for child in [children[0], children[1]] {
            assert_eq!(code(team.steer("roll_back_run", child, &back)), "illegal_transition");
        }
        let again = team.steer("cancel_run", parent, &json!({})).unwrap();
        assert_eq!(again["cancelled_runs"], json!([]), "repeating it changes nothing");
    }

    // S20: an agent reaches no other project through what is below its run
    fn a_portfolio_reaches_no_other_project(engine) {
        let team = Team::new(engine);
        let chief = team.kit.agent_with("web", "Chief", &["orchestrate"]).1;
        let mut request = free("parent");
        request["children"] = json!([{ "goal": "the far secret", "project": "api" }]);
        let created = team.call(&BOSS, "create_run", &request).unwrap();
        let run = json!({ "run": created["run"]["id"] });
        let told = team.call(&chief, "portfolio_status", &run).unwrap();
        assert_eq!(told["children"][0]["goal"], "");
        assert!(!told.to_string().contains("far secret"), "{told}");
        assert_eq!(code(team.call(&chief, "cancel_run", &run)), "forbidden");
        // What it may not see is as if it were not there.
        for project in ["api", "nowhere"] {
            let child = json!({ "goal": "g", "children": [{ "goal": "c", "project": project }] });
            assert_eq!(code(team.call(&chief, "create_run", &child)), "not_found", "{project}");
        }
        for parent in [created["children"][0]["id"].clone(), json!(99)] {
            let below = json!({ "goal": "g", "parent": parent });
            assert_eq!(code(team.call(&chief, "create_run", &below)), "not_found", "{parent}");
        }
        let whole = team.call(&BOSS, "portfolio_status", &run).unwrap();
        assert_eq!(whole["children"][0]["goal"], "the far secret");
        let cancelled = team.call(&BOSS, "cancel_run", &run).unwrap();
        assert_eq!(cancelled["cancelled_runs"].as_array().unwrap().len(), 2);
    }
}
