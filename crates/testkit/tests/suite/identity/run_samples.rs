//! The same of runs, gates and portfolios.

use comity_kernel::operation::Operation;
use serde_json::{Value, json};

use super::samples::{Subject, no_line, no_prose, wrong_paths};
use super::world::{RUN_REVISION, SHA256, STANDING_SEQ};

/// Run 1 is in its second phase of four, with Blue's artifact 1, and waits for run 3; run 2 rests.
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
        _ => return None,
    })
}

/// Values that a field of a run must refuse.
pub(super) fn wrong_for_runs(operation: &Operation, field: &str) -> Option<Vec<Value>> {
    let number = || vec![json!("1"), json!(1.5), json!(true), json!(1e30)];
    Some(match (operation.name, field) {
        ("add_run_agent", "role") | (_, "kind") => no_line(128),
        (_, "run" | "parent" | "upstream" | "downstream" | "artifact") => {
            vec![json!(0), json!(-1), json!("1"), json!(1.5), json!(1e30)]
        }
        (_, "goal") => [no_prose(4_096), vec![json!("")]].concat(),
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
        (_, "token_budget") => [number(), vec![json!(-1)]].concat(),
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
        (_, "path") => wrong_paths(),
        (_, "url") => no_line(2_048),
        _ => return None,
    })
}
