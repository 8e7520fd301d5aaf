//! Runs, gates and portfolios: every answer of every operation, on both engines.

mod history;
mod portfolios;
mod races;
mod refusals;
mod steering;

use comity_kernel::{Actor, Error};
use comity_testkit::{Engine, both_engines};
use serde_json::{Value, json};

use crate::team::{Team, code};

/// The operator, who may do everything.
const BOSS: Actor = Actor::OPERATOR;

impl Team {
    /// Creates a run as the operator and returns its number.
    fn run(&self, request: &Value) -> i64 {
        let mut request = request.clone();
        if request.get("project").is_none() {
            request["project"] = json!("web");
        }
        let created = self.call(&BOSS, "create_run", &request).unwrap();
        created["run"]["id"].as_i64().unwrap()
    }

    /// Creates a run with three free phases.
    fn free_run(&self) -> i64 {
        self.run(&free("a run"))
    }

    /// Moves a run; what is answered of it is what is stored.
    fn advance(&self, run: i64) -> Result<Value, Error> {
        let moved = self.call(&BOSS, "advance_run", &json!({ "run": run }))?;
        assert_eq!(moved["run"], self.status(run)["run"]);
        Ok(moved)
    }

    /// Does something to a run as the operator.
    fn steer(&self, operation: &str, run: i64, more: &Value) -> Result<Value, Error> {
        let mut request = json!({ "run": run });
        for (key, value) in more.as_object().unwrap() {
            request[key] = value.clone();
        }
        self.call(&BOSS, operation, &request)
    }

    fn artifact(&self, run: i64, phase: &str) -> i64 {
        let request = json!({ "run": run, "phase": phase, "kind": "note", "path": "a.md" });
        let added = self.call(&self.blue, "add_artifact", &request).unwrap();
        added["artifact"]["id"].as_i64().unwrap()
    }

    fn status(&self, run: i64) -> Value {
        self.call(&self.blue, "run_status", &json!({ "run": run }))
            .unwrap()
    }

    fn phase(&self, run: i64) -> String {
        self.status(run)["run"]["phase"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// The kinds of a run's events.
    fn kinds(&self, run: i64) -> Vec<String> {
        let request = json!({ "run": run, "limit": 500 });
        let page = self.call(&self.blue, "run_timeline", &request).unwrap();
        let items = page["items"].as_array().unwrap();
        items
            .iter()
            .map(|one| one["kind"].as_str().unwrap().to_owned())
            .collect()
    }
}

/// A chain of three phases without checks.
fn free(goal: &str) -> Value {
    gated(goal, &json!([]), &json!([]))
}

/// A chain of three phases with these checks.
fn gated(goal: &str, first: &Value, second: &Value) -> Value {
    json!({
        "project": "web", "goal": goal, "phases": ["plan", "work", "done"],
        "gates": { "plan->work": first, "work->done": second },
    })
}

/// Which checks of a gate passed.
fn passed(gate: &Value) -> Vec<bool> {
    let checks = gate["checks"].as_array().unwrap();
    checks
        .iter()
        .map(|check| check["passed"].as_bool().unwrap())
        .collect()
}

both_engines! {
    // G1 G5: from an idea to something done, each step on its evidence
    fn a_run_goes_through_the_standard_chain(engine) {
        let team = Team::new(engine);
        let run = team.run(&json!({ "goal": "ship it" }));
        for phase in ["brainstorm", "brainstorm-reviewed", "strategized", "planned"] {
            assert_eq!(team.phase(run), phase);
            assert_eq!(code(team.advance(run)), "gate_refused");
            team.artifact(run, phase);
            team.advance(run).unwrap();
        }
        // Nobody is at work yet: the gate to the review is open, and shuts when somebody comes.
        let gate = team.steer("check_gate", run, &json!({})).unwrap();
        assert_eq!((&gate["from"], &gate["passes"]), (&json!("executing"), &json!(true)));
        let join = json!({ "agent": "Blue" });
        team.steer("add_run_agent", run, &join).unwrap();
        let refused = team.advance(run).unwrap_err().to_json();
        assert_eq!(refused["checks"][0]["rule"]["check"], "agents_complete");
        assert_eq!(refused["checks"][0]["detail"], "1 active agent");
        let done = json!({ "run": run, "agent": "Blue", "outcome": "completed" });
        team.call(&team.blue, "finish_run_agent", &done).unwrap();
        team.advance(run).unwrap();
        let reject = json!({ "run": run, "verdict": "reject" });
        team.call(&team.green, "record_verdict", &reject).unwrap();
        assert_eq!(code(team.advance(run)), "gate_refused", "a rejection is no verdict");
        let fail = json!({ "run": run, "verdict": "fail", "summary": "not yet" });
        team.call(&team.green, "record_verdict", &fail).unwrap();
        team.advance(run).unwrap();
        team.advance(run).unwrap();
        assert_eq!(team.phase(run), "reflect");
        team.artifact(run, "reflect");
        let last = team.advance(run).unwrap();
        assert_eq!((&last["run"]["phase"], &last["run"]["state"]), (&json!("done"), &json!("completed")));
        assert!(last["run"]["ended_at"].is_string());
        assert_eq!(code(team.advance(run)), "illegal_transition");
        assert_eq!(team.status(run)["gate"], Value::Null);
    }

    // G4: a refusal is one event and nothing else, and the question says the same without it
    fn a_refusal_is_one_event_and_nothing_else(engine) {
        let team = Team::new(engine);
        let checks = json!([
            { "check": "artifact_exists", "phase": "plan", "kind": "design" },
            { "check": "verdict_clean" },
            { "check": "approval", "role": "operator", "tier": "soft" },
        ]);
        let run = team.run(&gated("a", &checks, &json!([])));
        let before = team.status(run);
        let asked = team.steer("check_gate", run, &json!({})).unwrap();
        assert_eq!(passed(&asked), [false, false, false]);
        assert_eq!(asked["passes"], false);
        assert_eq!(team.status(run), before, "asking changes nothing");
        let refused = team.advance(run).unwrap_err().to_json();
        assert_eq!(refused["error"], "gate_refused");
        assert_eq!(refused["checks"], asked["checks"]);
        let mut after = team.status(run);
        assert_eq!(after["run"]["revision"], 2);
        after["run"]["revision"] = json!(1);
        after["as_of_seq"] = before["as_of_seq"].clone();
        assert_eq!(after, before);
        assert_eq!(team.kinds(run), ["run_created", "gate_refused"]);
    }

    // G4: a soft check is recorded and holds nobody up
    fn a_soft_check_is_recorded(engine) {
        let team = Team::new(engine);
        let checks = json!([{ "check": "approval", "role": "operator", "tier": "soft" }]);
        let run = team.run(&gated("a", &checks, &json!([])));
        let moved = team.advance(run).unwrap();
        assert_eq!(moved["gate"]["passes"], true);
        assert_eq!(passed(&moved["gate"]), [false]);
        let timeline = team.steer("run_timeline", run, &json!({})).unwrap();
        let event = &timeline["items"][1];
        assert_eq!(event["kind"], "run_advanced");
        assert_eq!(event["payload"]["gate"], moved["gate"]["checks"]);
        assert_eq!(event["text"], "moved from plan to work");
    }

    // every check, failing and passing on its own evidence
    fn each_check_looks_at_its_own_evidence(engine) {
        let team = Team::new(engine);
        let alone = |check: Value| team.run(&gated("a", &json!([check]), &json!([])));
        let fails = |run: i64| assert_eq!(code(team.advance(run)), "gate_refused");
        let passes = |run: i64| team.advance(run).unwrap();

        let kind = alone(json!({ "check": "artifact_exists", "phase": "plan", "kind": "design" }));
        team.artifact(kind, "plan");
        fails(kind);
        let design = json!({ "phase": "plan", "kind": "design", "url": "https://example.com/d" });
        team.steer("add_artifact", kind, &design).unwrap();
        passes(kind);

        let clean = alone(json!({ "check": "verdict_clean" }));
        fails(clean);
        team.steer("record_verdict", clean, &json!({ "verdict": "warn" })).unwrap();
        team.steer("record_verdict", clean, &json!({ "verdict": "fail" })).unwrap();
        fails(clean);

        let orchestrator = team.kit.agent_with("web", "Chief", &["orchestrate"]).1;
        let person = alone(json!({ "check": "approval", "role": "operator" }));
        let approve = |who: &Actor, run: i64| {
            team.call(who, "approve", &json!({ "run": run, "phase": "plan" })).unwrap()
        };
        approve(&orchestrator, person);
        fails(person);
        approve(&BOSS, person);
        passes(person);
        let either = alone(json!({ "check": "approval", "role": "orchestrator" }));
        approve(&BOSS, either);
        passes(either);

        let budget = team.run(&json!({
            "goal": "b", "phases": ["plan", "done"], "token_budget": 10, "budget_enforced": true,
            "gates": { "plan->done": [] },
        }));
        let gate = team.steer("check_gate", budget, &json!({})).unwrap();
        assert_eq!(gate["checks"][0]["detail"], "0 of 10 tokens used");
        passes(budget);
    }

    // G3: of a stale and a true expectation the true one moves the run
    fn a_stale_phase_is_told_the_present_one(engine) {
        let team = Team::new(engine);
        let run = team.free_run();
        let expect = |phase: &str| team.steer("advance_run", run, &json!({ "expected_phase": phase }));
        let stale = expect("work").unwrap_err().to_json();
        assert_eq!((&stale["error"], &stale["present"]), (&json!("stale_phase"), &json!("plan")));
        expect("plan").unwrap();
        assert_eq!(code(expect("plan")), "stale_phase");
        assert_eq!(team.kinds(run).len(), 2, "a stale wish leaves nothing behind");
    }

    // C2: an advance repeated with its key moves the run once
    fn an_advance_repeated_with_its_key_moves_once(engine) {
        let team = Team::new(engine);
        let run = team.free_run();
        let advance = || {
            let caller = comity_testkit::kit::operator_with_key("k");
            team.kit.call(caller, "advance_run", &json!({ "run": run })).unwrap()
        };
        assert_eq!(advance(), advance());
        assert_eq!(team.phase(run), "work");
    }

    // what an agent may do and what not
    fn rights_are_those_of_the_credential(engine) {
        let team = Team::new(engine);
        let run = team.free_run();
        let chief = team.kit.agent_with("web", "Chief", &["orchestrate"]).1;
        for operation in ["advance_run", "pause_run", "cancel_run", "fail_run"] {
            let wish = team.call(&team.blue, operation, &json!({ "run": run }));
            assert_eq!(code(wish), "forbidden", "{operation}");
            let wish = team.call(&team.far, operation, &json!({ "run": run }));
            assert_eq!(code(wish), "forbidden", "{operation}");
        }
        assert_eq!(code(team.call(&team.far, "run_status", &json!({ "run": run }))), "not_found");
        let verdict = json!({ "run": run, "verdict": "pass" });
        assert_eq!(code(team.call(&team.far, "record_verdict", &verdict)), "not_found");
        let override_it = json!({ "run": run, "reason": "r" });
        assert_eq!(code(team.call(&chief, "override_gate", &override_it)), "forbidden");
        team.call(&chief, "advance_run", &json!({ "run": run })).unwrap();
        let own = team.call(&chief, "create_run", &json!({ "goal": "g" })).unwrap();
        assert_eq!(own["run"]["project"], "web");
        let mut away = free("g");
        away["project"] = json!("api");
        assert_eq!(code(team.call(&chief, "create_run", &away)), "not_found");
        away = free("g");
        away["children"] = json!([{ "project": "api", "goal": "c" }]);
        assert_eq!(code(team.call(&chief, "create_run", &away)), "not_found");
        let other = json!({ "run": run, "agent": "Green" });
        assert_eq!(code(team.call(&team.blue, "add_run_agent", &other)), "forbidden");
        team.call(&chief, "add_run_agent", &other).unwrap();
    }
}
