//! The same of runs, gates, portfolios and dispatches.

use comity_kernel::operation::Operation;
use serde_json::{Value, json};

use super::samples::{Subject, no_line, no_prose, wrong_agents, wrong_paths, wrong_span};
use super::world::{CLAIM_FENCE, RUN_REVISION, SHA256, STANDING_SEQ};

/// Run 1 is in its second phase of four, with Blue's artifact 1, and waits for run 3; run 2 rests.
/// Blue has claimed dispatch 1, dispatch 2 failed, nobody has claimed dispatch 3.
pub(super) fn run_sample(operation: &Operation, subject: &Subject) -> Option<Value> {
    let about = |request: Value| subject.within(request);
    let agent = subject.agent;
    Some(match operation.name {
        "create_run" => about(json!({
            "goal": "g", "phases": ["a", "b"], "gates": { "a->b": [] }, "token_budget": 5,
            "budget_enforced": true, "max_dispatches": 2, "max_per_kind": { "k": 1 }, "parent": 1,
            "children": [{ "goal": "g" }], "metadata": { "k": 1 },
        })),
        "list_runs" => about(json!({ "state": "active", "parent": 1, "limit": 5, "after": "0" })),
        "run_status" => json!({ "run": 1, "at": STANDING_SEQ }),
        "current_run" => about(json!({})),
        "run_timeline" | "list_artifacts" | "list_run_agents" | "list_verdicts"
        | "list_approvals" => json!({ "run": 1, "limit": 5, "after": "0" }),
        "run_at" => json!({ "run": 1, "seq": STANDING_SEQ }),
        "advance_run" => json!({ "run": 1, "expected_phase": "b", "note": "n" }),
        "check_gate" | "portfolio_order" | "portfolio_status" => json!({ "run": 1 }),
        "override_gate" => json!({ "run": 1, "reason": "r", "expected_phase": "b" }),
        "skip_phase" => json!({ "run": 1, "phase": "c", "reason": "r" }),
        "roll_back_run" => {
            json!({ "run": 1, "to_phase": "a", "reason": "r", "expected_phase": "b" })
        }
        "pause_run" | "cancel_run" | "fail_run" => json!({ "run": 1, "reason": "r" }),
        "resume_run" => json!({ "run": 2, "reason": "r" }),
        "update_run" => json!({
            "run": 1, "goal": "g", "metadata": { "k": 1 }, "token_budget": 5, "max_dispatches": 2,
            "expected_revision": RUN_REVISION,
        }),
        "add_artifact" => json!({
            "run": 1, "phase": "b", "kind": "k", "path": "p", "url": "u", "sha256": SHA256,
        }),
        "withdraw_artifact" => json!({ "run": 1, "artifact": 1, "reason": "r" }),
        "add_run_agent" => json!({ "run": 1, "agent": agent, "role": "r" }),
        "finish_run_agent" => json!({ "run": 1, "agent": agent, "outcome": "failed" }),
        "record_verdict" => {
            json!({ "run": 1, "verdict": "pass", "summary": "s", "phase": "b" })
        }
        "approve" => json!({ "run": 1, "phase": "b", "note": "n" }),
        "link_runs" => json!({ "downstream": 1, "upstream": 2 }),
        "unlink_runs" => json!({ "downstream": 1, "upstream": 3 }),
        _ => return dispatch_sample(operation, subject),
    })
}

fn dispatch_sample(operation: &Operation, subject: &Subject) -> Option<Value> {
    let about = |request: Value| subject.within(request);
    let claim = |mut request: Value| {
        request["id"] = json!(1);
        request["fence"] = json!(CLAIM_FENCE);
        request["expected_revision"] = json!(2);
        request
    };
    Some(match operation.name {
        "create_dispatch" => about(json!({
            "run": 1, "agent_kind": "k", "prompt": "p", "deadline": "1h", "depends_on": [1],
            "priority": 1, "group": "g",
        })),
        "list_dispatches" => about(json!({
            "run": 1, "state": "queued", "agent_kind": "k", "group": "g",
            "claimed_by": subject.agent, "limit": 5, "after": "0",
        })),
        "get_dispatch" => json!({ "id": 1 }),
        "group_outcome" => about(json!({ "group": "canary crew" })),
        "claim_dispatch" => {
            about(json!({ "agent_kinds": ["canary kind"], "lease": "5m", "wait": "10ms" }))
        }
        "start_dispatch" => claim(json!({})),
        "extend_dispatch" => claim(json!({ "lease": "5m" })),
        "report_dispatch" => claim(json!({ "tokens": 5, "progress": "half" })),
        "finish_dispatch" => claim(json!({
            "outcome": "completed", "verdict": "pass", "summary": "s", "result": { "k": 1 },
        })),
        "cancel_dispatch" => json!({ "id": 3, "reason": "r", "expected_revision": 1 }),
        "retry_dispatch" => json!({ "id": 2 }),
        _ => return None,
    })
}

/// Values that a field of a run or a dispatch must refuse.
pub(super) fn wrong_for_runs(operation: &Operation, field: &str) -> Option<Vec<Value>> {
    let number = || vec![json!("1"), json!(1.5), json!(true), json!(1e30)];
    Some(match (operation.name, field) {
        ("add_run_agent", "role") => no_line(128),
        (_, "run" | "parent" | "upstream" | "downstream" | "artifact") => {
            vec![json!(0), json!(-1), json!("1"), json!(1.5), json!(1e30)]
        }
        (_, "goal" | "prompt") => [no_prose(256 * 1_024), vec![json!("")]].concat(),
        (_, "summary") => no_prose(4_096),
        (_, "phase" | "to_phase" | "expected_phase") => {
            let texts = ["", "A", "a b", "a->b", "-a", "a\0"].map(Value::from);
            texts.into_iter().chain([json!(1), json!([])]).collect()
        }
        (_, "phases") => vec![
            json!("a"),
            json!([]),
            json!(["a"]),
            json!(["a", "a"]),
            json!(["a", "B"]),
        ],
        (_, "gates") => vec![
            json!([]),
            json!({}),
            json!({ "a": [] }),
            json!({ "a->b": 1 }),
            json!({ "a->b": [{ "check": "always" }] }),
            json!({ "a->b": [{ "check": "approval" }] }),
            json!({ "a->b": [], "b->c": [] }),
        ],
        (_, "token_budget" | "tokens") => [number(), vec![json!(-1)]].concat(),
        (_, "max_dispatches") => [number(), vec![json!(0), json!(10_001)]].concat(),
        (_, "max_per_kind") => vec![json!([]), json!({ "k": 0 }), json!({ "": 1 })],
        (_, "budget_enforced") => vec![json!("true"), json!(1)],
        (_, "children") => vec![
            json!({}),
            json!([1]),
            json!([{}]),
            json!([{ "goal": "" }]),
            json!([{ "goal": "g", "phases": ["a"] }]),
        ],
        (_, "at" | "seq") => [number(), vec![json!(i64::MAX)]].concat(),
        (_, "kind" | "agent_kind" | "group") => no_line(128),
        (_, "path") => wrong_paths(),
        (_, "url") => no_line(2_048),
        (_, "agent_kinds") => vec![json!("k"), json!([]), json!([1]), json!([""])],
        (_, "verdict" | "outcome") => {
            let texts = ["", "Pass", "Completed", "done"].map(Value::from);
            texts.into_iter().chain([json!(1), json!([])]).collect()
        }
        (_, "deadline" | "lease") => wrong_span(field),
        (_, "depends_on") => vec![json!(1), json!([0]), json!(["1"]), json!([1.5])],
        (_, "priority") => [number(), vec![json!(1_001), json!(-1_001)]].concat(),
        (_, "claimed_by") => wrong_agents(),
        (_, "progress") => no_line(512),
        (_, "result") => vec![json!("x".repeat(256 * 1_024 + 1))],
        _ => return None,
    })
}
