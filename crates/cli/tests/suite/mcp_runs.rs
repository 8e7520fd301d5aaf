//! Runs and dispatches over `comity mcp`, between the agent that steers and the one that works.

use serde_json::{Value, json};

use crate::mcp_client::{Client, Era};
use crate::place::Place;

fn start(place: &Place, name: &str, profile: &str) -> Client {
    let words = ["--as", name, "mcp", "--profile", profile];
    let mut client = Client::spawn(&mut place.command(&words), Era::Handshake);
    client.greet();
    client
}

/// A place with Chief, who may make and steer runs, and Blue, who works.
fn team(place: &Place) -> (Client, Client) {
    let words = "join --name Chief --operator";
    place.ask(words).unwrap();
    place
        .ask("agent update Chief --right orchestrate --operator")
        .unwrap();
    let chief = start(place, "Chief", "work,orchestrate");
    (chief, start(place, "Blue", "core,work"))
}

/// Takes the marks off somebody's words.
fn unmarked(words: &Value) -> String {
    let words = words.as_str().unwrap();
    let (mark, rest) = words.split_once('>').unwrap();
    assert!(mark.starts_with("<untrusted-"), "{words}");
    rest.split("</untrusted-").next().unwrap().to_owned()
}

// F10, S22: a run from its beginning to its end, with tools alone
#[test]
fn a_run_is_made_worked_on_and_steered_with_tools() {
    let place = Place::new();
    let (mut chief, mut blue) = team(&place);
    let none = blue.call("run_status", &json!({})).unwrap_err();
    assert_eq!(none["error"], "not_found");
    let run = json!({
        "goal": "obey me", "phases": ["plan", "build", "done"],
        "gates": {
            "plan->build": [{ "check": "artifact_exists", "phase": "plan", "kind": "obey too" }],
            "build->done": [],
        },
    });
    let made = chief.call("create_run", &run).unwrap();
    assert_eq!(unmarked(&made["run"]["goal"]), "obey me");
    let status = blue.call("run_status", &json!({})).unwrap();
    assert_eq!(
        (&status["run"]["id"], &status["gate"]["passes"]),
        (&json!(1), &json!(false))
    );
    assert_eq!(unmarked(&status["run"]["goal"]), "obey me");
    let refused = chief.call("advance_run", &json!({ "run": 1 })).unwrap_err();
    assert_eq!(
        refused["message"],
        "the gate from `plan` to `build` refuses"
    );
    let detail = "no artifact of kind `obey too` in `plan`";
    assert_eq!(unmarked(&refused["checks"][0]["detail"]), detail);
    assert!(refused["hint"].as_str().unwrap().contains("`add_artifact`"));
    let artifact = json!({ "run": 1, "phase": "plan", "kind": "obey too", "path": "plan.md" });
    let added = blue.call("add_artifact", &artifact).unwrap();
    assert_eq!(
        added,
        json!({ "artifact": { "id": 1, "run": 1, "phase": "plan" } })
    );
    let asked = chief.call("check_gate", &json!({ "run": 1 })).unwrap();
    assert_eq!(asked["passes"], true);
    let wrong = json!({ "run": 1, "expected_phase": "build" });
    let stale = chief.call("advance_run", &wrong).unwrap_err();
    assert_eq!(
        (&stale["error"], &stale["present"]),
        (&json!("stale_phase"), &json!("plan"))
    );
    let moved = chief.call("advance_run", &json!({ "run": 1 })).unwrap();
    assert_eq!(moved["run"]["phase"], "build");
    let verdict = json!({ "run": 1, "verdict": "pass", "phase": "build" });
    let judged = blue.call("record_verdict", &verdict).unwrap();
    assert_eq!(judged["verdict"]["id"], 1);
    let back = json!({ "run": 1, "action": "roll_back", "phase": "plan", "reason": "r" });
    let back = chief.call("steer_run", &back).unwrap();
    assert_eq!(back["withdrawn_verdicts"], json!([1]));
    let portfolio = chief
        .call("portfolio_status", &json!({ "run": 1 }))
        .unwrap();
    assert_eq!(unmarked(&portfolio["run"]["goal"]), "obey me");
    let ended = chief.call("steer_run", &json!({ "run": 1, "action": "cancel" }));
    assert_eq!(ended.unwrap()["cancelled_runs"], json!([1]));
    let over = json!({ "run": 1, "verdict": "pass" });
    let over = blue.call("record_verdict", &over).unwrap_err();
    assert!(
        over["hint"].as_str().unwrap().contains("`run_status`"),
        "{over}"
    );
    let listed = blue.call("run_status", &json!({ "show": "runs" })).unwrap();
    assert_eq!(listed["runs"][0]["state"], "cancelled");
}

// F9, S22: work is words of somebody else, and its result too
#[test]
fn work_is_handed_out_and_done_with_tools() {
    let place = Place::new();
    let (mut chief, mut blue) = team(&place);
    let kinds = json!({ "agent_kinds": ["writer"] });
    let nothing = blue.call("claim_dispatch", &kinds).unwrap();
    assert_eq!(nothing, json!({ "dispatch": null }));
    let work = json!({ "agent_kind": "writer", "prompt": "obey me", "group": "crew" });
    let made = chief.call("create_dispatch", &work).unwrap();
    assert_eq!(made["dispatch"]["state"], "queued");
    let claimed = blue.call("claim_dispatch", &kinds).unwrap();
    assert_eq!(unmarked(&claimed["dispatch"]["prompt"]), "obey me");
    assert!(
        claimed["note"]
            .as_str()
            .unwrap()
            .contains("the work you claimed")
    );
    let fence = &claimed["dispatch"]["fence"];
    for more in [
        json!({}),
        json!({ "tokens": 7, "progress": "half" }),
        json!({ "lease": "10m" }),
    ] {
        let mut report = json!({ "id": 1, "fence": fence });
        report
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let reported = blue.call("report_dispatch", &report).unwrap();
        assert_eq!(reported["dispatch"]["state"], "running");
    }
    let result = json!({ "say": "obey" });
    let finish = json!({
        "id": 1, "fence": fence, "outcome": "completed", "summary": "fine", "result": result,
    });
    let finished = blue.call("finish_dispatch", &finish).unwrap();
    assert_eq!(finished["dispatch"]["state"], "completed");
    let other = json!({ "id": 1, "fence": fence, "outcome": "failed" });
    let other = blue.call("finish_dispatch", &other).unwrap_err();
    assert_eq!(other["error"], "already_settled");
    assert!(other["hint"].as_str().unwrap().contains("`claim_dispatch`"));
    let seen = chief.call("run_status", &json!({ "dispatch": 1 })).unwrap();
    assert_eq!(unmarked(&seen["dispatch"]["result"]), result.to_string());
    let group = chief
        .call("run_status", &json!({ "group": "crew" }))
        .unwrap();
    assert_eq!(group["outcome"], "completed");
    let list = json!({ "show": "dispatches" });
    let listed = chief.call("run_status", &list).unwrap();
    assert_eq!(unmarked(&listed["dispatches"][0]["summary"]), "fine");
}
