//! A call of every operation on runs, gates and portfolios, in an order that works.

use serde_json::{Value, json};

use crate::town::Part;

/// A request line and a body of each: about the run that Blue works on, and one made after it.
pub(crate) fn runs_of_each(blues: &Part) -> Vec<(&'static str, String, Value)> {
    let calls = [looks(blues), evidence(), steps(blues)].concat();
    let filled = |(name, line, body): (_, &str, _)| {
        let line = line.replace("{run}", &blues.run.to_string());
        let line = line.replace("{other}", &(blues.run + 1).to_string());
        let line = line.replace("{seq}", &blues.seq.to_string());
        (
            name,
            line.replace("{artifact}", &blues.artifact.to_string()),
            body,
        )
    };
    calls.into_iter().map(filled).collect()
}

type Calls = Vec<(&'static str, &'static str, Value)>;

fn looks(blues: &Part) -> Calls {
    let none = || json!({});
    let update = json!({ "goal": "g", "expected_revision": blues.revision });
    let create = json!({ "project": "web", "goal": "g" });
    vec![
        ("update_run", "PATCH /api/runs/{run}", update),
        ("create_run", "POST /api/runs", create),
        ("list_runs", "GET /api/runs?project=web", none()),
        ("run_status", "GET /api/runs/{run}", none()),
        ("run_status", "GET /api/runs/{run}?at={seq}", none()),
        ("run_at", "GET /api/runs/{run}/at/{seq}", none()),
        ("current_run", "GET /api/projects/web/run", none()),
        ("run_timeline", "GET /api/runs/{run}/timeline", none()),
        ("check_gate", "GET /api/runs/{run}/gate", none()),
    ]
}

fn evidence() -> Calls {
    let none = || json!({});
    let plan = json!({ "phase": "b", "kind": "plan", "path": "plan.md" });
    let (verdict, phase) = (json!({ "verdict": "pass" }), json!({ "phase": "b" }));
    let (blue, done) = (
        json!({ "agent": "Blue" }),
        json!({ "outcome": "completed" }),
    );
    let withdraw = "DELETE /api/runs/{run}/artifacts/{artifact}";
    let finish = "POST /api/runs/{run}/agents/Blue/finish";
    vec![
        ("add_artifact", "POST /api/runs/{run}/artifacts", plan),
        ("list_artifacts", "GET /api/runs/{run}/artifacts", none()),
        ("withdraw_artifact", withdraw, none()),
        ("add_run_agent", "POST /api/runs/{run}/agents", blue),
        ("list_run_agents", "GET /api/runs/{run}/agents", none()),
        ("finish_run_agent", finish, done),
        ("record_verdict", "POST /api/runs/{run}/verdicts", verdict),
        ("list_verdicts", "GET /api/runs/{run}/verdicts", none()),
        ("approve", "POST /api/runs/{run}/approvals", phase),
        ("list_approvals", "GET /api/runs/{run}/approvals", none()),
    ]
}

/// The ends come last.
fn steps(blues: &Part) -> Calls {
    let none = || json!({});
    let why = || json!({ "reason": "r" });
    let link = json!({ "upstream": blues.run + 1 });
    let skip = json!({ "phase": "c", "reason": "r" });
    let back = json!({ "to_phase": "a", "reason": "r" });
    let order = "GET /api/runs/{run}/portfolio/order";
    let unlink = "DELETE /api/runs/{run}/links?upstream={other}";
    vec![
        ("link_runs", "POST /api/runs/{run}/links", link),
        ("portfolio_order", order, none()),
        ("portfolio_status", "GET /api/runs/{run}/portfolio", none()),
        ("unlink_runs", unlink, none()),
        ("pause_run", "POST /api/runs/{run}/pause", why()),
        ("resume_run", "POST /api/runs/{run}/resume", none()),
        ("skip_phase", "POST /api/runs/{run}/skip", skip),
        ("roll_back_run", "POST /api/runs/{run}/roll-back", back),
        ("advance_run", "POST /api/runs/{run}/advance", none()),
        ("override_gate", "POST /api/runs/{run}/gate/override", why()),
        ("fail_run", "POST /api/runs/{run}/fail", why()),
        ("cancel_run", "POST /api/runs/{other}/cancel", none()),
    ]
}
