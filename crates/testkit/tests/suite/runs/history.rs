//! What a run was, and random histories whose every move is examined again.
//!
//! `COMITY_RUN_EVENTS` says how many events a random history has at least.

use comity_testkit::Dice;

use super::*;

const PHASES: [&str; 4] = ["plan", "work", "check", "done"];

/// Runs that something happens to.
const YOUNG: usize = 40;

/// Steps before it is asked how many events there are.
const STEPS: usize = 50;

fn events() -> i64 {
    let set = std::env::var("COMITY_RUN_EVENTS").ok();
    set.map_or(600, |events| events.parse().expect("a number of events"))
}

/// A run with random gates.
fn random_run(dice: &mut Dice, parents: &[i64]) -> Value {
    let checks = [
        json!({ "check": "artifact_exists", "phase": "plan" }),
        json!({ "check": "artifact_exists", "phase": "work", "kind": "code" }),
        json!({ "check": "agents_complete" }),
        json!({ "check": "dispatches_settled" }),
        json!({ "check": "verdict_exists" }),
        json!({ "check": "verdict_clean" }),
        json!({ "check": "children_at_phase", "phase": "work" }),
        json!({ "check": "upstreams_at_phase", "phase": "work" }),
        json!({ "check": "budget_not_exceeded" }),
        json!({ "check": "approval", "role": "operator" }),
    ];
    let gate = |dice: &mut Dice| {
        let some: Vec<_> = (0..dice.below(3))
            .map(|_| {
                let mut check = dice.pick(&checks).clone();
                if dice.one_in(3) {
                    check["tier"] = json!("soft");
                }
                check
            })
            .collect();
        json!(some)
    };
    let mut request = json!({
        "project": "web", "goal": "random", "phases": PHASES, "token_budget": 10,
        "gates": {
            "plan->work": gate(dice), "work->check": gate(dice), "check->done": gate(dice),
        },
    });
    if dice.one_in(3) && !parents.is_empty() {
        request["parent"] = json!(dice.pick(parents));
    }
    request
}

/// Something that may or may not be possible, to one of the younger runs: the old ones have ended.
fn random_step(team: &Team, dice: &mut Dice, runs: &mut Vec<i64>) {
    let young = &runs[runs.len().saturating_sub(YOUNG)..];
    if runs.len() < 3 || dice.one_in(25) {
        let request = random_run(dice, young);
        if let Ok(created) = team.call(&BOSS, "create_run", &request) {
            runs.push(created["run"]["id"].as_i64().unwrap());
        }
        return;
    }
    let run = *dice.pick(young);
    let phase = *dice.pick(&PHASES);
    let agent = *dice.pick(&["Blue", "Green", "Red"]);
    let kind = *dice.pick(&["code", "note"]);
    let verdict = *dice.pick(&["pass", "warn", "fail", "reject"]);
    let (operation, more) = match dice.below(20) {
        0..6 => ("advance_run", json!({})),
        6..9 => (
            "add_artifact",
            json!({ "phase": team.phase(run), "kind": kind, "path": "a.md" }),
        ),
        9..11 => ("record_verdict", json!({ "verdict": verdict })),
        11 => ("approve", json!({ "phase": team.phase(run) })),
        12 => ("add_run_agent", json!({ "agent": agent })),
        13 => (
            "finish_run_agent",
            json!({ "agent": agent, "outcome": "completed" }),
        ),
        14 => ("roll_back_run", json!({ "to_phase": phase, "reason": "r" })),
        15 => ("skip_phase", json!({ "phase": phase, "reason": "r" })),
        16 => ("override_gate", json!({ "reason": "r" })),
        17 if dice.one_in(4) => ("cancel_run", json!({})),
        18 if dice.one_in(4) => ("fail_run", json!({})),
        19 => ("pause_run", json!({})),
        _ => ("resume_run", json!({})),
    };
    // Whether it could be done is for the doctor to judge, from the log.
    drop(team.steer(operation, run, &more));
    if dice.one_in(10) {
        let upstream = *dice.pick(young);
        drop(team.call(
            &BOSS,
            "link_runs",
            &json!({ "upstream": upstream, "downstream": run }),
        ));
    }
}

both_engines! {
    // G1: each move of a random history passes its gate on the state just before it. The doctor
    // examines that at the end of every test.
    fn every_move_was_right_when_it_was_made(engine) {
        let mut dice = Dice::new(7);
        let team = Team::new(engine);
        let mut runs = Vec::new();
        let mut head = 0;
        while head < events() {
            for _ in 0..STEPS {
                random_step(&team, &mut dice, &mut runs);
            }
            head = team.call(&BOSS, "list_runs", &json!({ "limit": 1 })).unwrap()["as_of_seq"].as_i64().unwrap();
        }
        let findings = team.kit.doctor();
        let gates = findings.checks.iter().find(|check| check.name == "gates").unwrap();
        assert!(gates.ok, "{gates:?}");
        println!("runs: {head} events, gates: {}", gates.detail);
        // Two ways to the same: the tables now, and the events up to now.
        for run in runs {
            let mut now = team.status(run);
            let mut then = team.steer("run_at", run, &json!({ "seq": head })).unwrap();
            for status in [&mut now, &mut then] {
                for left_out in ["as_of_seq", "at", "gate"] {
                    status.as_object_mut().unwrap().remove(left_out);
                }
            }
            assert_eq!(now, then);
        }
    }

    // the run as it was, at every place of its history
    fn a_run_is_shown_as_it_was(engine) {
        let team = Team::new(engine);
        let run = team.free_run();
        let mut was = Vec::new();
        let mut note = || {
            let status = team.status(run);
            was.push((status["as_of_seq"].clone(), status["run"].clone(), status["skipped"].clone()));
        };
        note();
        for (operation, more) in [
            ("pause_run", json!({})),
            ("resume_run", json!({})),
            ("skip_phase", json!({ "phase": "work", "reason": "r" })),
            ("advance_run", json!({})),
            ("roll_back_run", json!({ "to_phase": "plan", "reason": "r" })),
            ("update_run", json!({ "goal": "new", "expected_revision": 6 })),
            ("fail_run", json!({})),
        ] {
            team.steer(operation, run, &more).unwrap();
            note();
        }
        for (seq, then, skipped) in was {
            let told = team.steer("run_status", run, &json!({ "at": seq })).unwrap();
            assert_eq!((&told["run"], &told["skipped"], &told["at"]), (&then, &skipped, &seq));
        }
        assert_eq!(code(team.steer("run_at", run, &json!({ "seq": 1 }))), "not_found");
        assert_eq!(code(team.steer("run_at", run, &json!({ "seq": 9_999 }))), "invalid");
    }

    // I4: a run's events are its own and its work's, whatever has the same number
    fn a_runs_events_are_its_own(engine) {
        let team = Team::new(engine);
        let (run, other) = (team.free_run(), team.free_run());
        team.artifact(other, "plan");
        let dispatch = json!({ "run": other, "agent_kind": "k", "prompt": "p" });
        let dispatch = team.call(&BOSS, "create_dispatch", &dispatch).unwrap();
        assert_eq!(dispatch["dispatch"]["id"], run, "the same number as the run");
        team.call(&team.blue, "reserve_files", &json!({ "paths": ["a.md"] })).unwrap();
        assert_eq!(team.kinds(run), ["run_created"]);
        assert_eq!(team.kinds(other), ["run_created", "artifact_added", "dispatch_created"]);
    }

    fn lists_are_pages_newest_first(engine) {
        let team = Team::new(engine);
        let runs: Vec<_> = (0..5).map(|_| team.free_run()).collect();
        team.steer("cancel_run", runs[4], &json!({})).unwrap();
        let mut seen = Vec::new();
        let mut after = json!(null);
        loop {
            let mut request = json!({ "limit": 2 });
            if !after.is_null() {
                request["after"] = after;
            }
            let page = team.call(&team.blue, "list_runs", &request).unwrap();
            seen.extend(page["items"].as_array().unwrap().iter().map(|run| run["id"].as_i64().unwrap()));
            after = page["next"].clone();
            if after.is_null() {
                break;
            }
        }
        let mut expected = runs.clone();
        expected.reverse();
        assert_eq!(seen, expected);
        let current = team.call(&team.blue, "current_run", &json!({})).unwrap();
        assert_eq!(current["run"]["id"], runs[3]);
        let cancelled = team.call(&team.blue, "list_runs", &json!({ "state": "cancelled" })).unwrap();
        assert_eq!(cancelled["items"][0]["id"], runs[4]);
        let status = team.call(&team.blue, "project_status", &json!({})).unwrap();
        assert_eq!(status["runs"], 4);
    }
}
