//! The part of the scenario that is runs, gates and portfolios; each run ends in another way.

use comity_kernel::{Actor, Error};
use serde_json::{Value, json};

use super::{call, called};
use crate::Kit;

/// Begins runs, leaves evidence, moves them in every way there is, and ends them.
pub(super) fn runs(kit: &Kit, red: &Actor) {
    let operator = &Actor::OPERATOR;
    begin(kit);
    evidence(kit, red);
    for (name, request) in [
        ("record_verdict", json!({ "run": 1, "verdict": "warn" })),
        ("advance_run", json!({ "run": 1, "note": "it's agreed" })),
        (
            "skip_phase",
            json!({ "run": 1, "phase": "review", "reason": "too small" }),
        ),
        (
            "override_gate",
            json!({ "run": 1, "reason": "the operator's word" }),
        ),
        (
            "roll_back_run",
            json!({ "run": 1, "to_phase": "plan", "reason": "the tests' failure" }),
        ),
        ("pause_run", json!({ "run": 2, "reason": "lunch" })),
        ("resume_run", json!({ "run": 2 })),
        ("link_runs", json!({ "upstream": 1, "downstream": 3 })),
        ("link_runs", json!({ "upstream": 1, "downstream": 4 })),
        ("unlink_runs", json!({ "upstream": 1, "downstream": 4 })),
        ("fail_run", json!({ "run": 4, "reason": "in vain" })),
        ("advance_run", json!({ "run": 5 })),
        ("cancel_run", json!({ "run": 2, "reason": "enough" })),
    ] {
        call(kit, operator, name, request);
    }
}

/// Five runs: one with a chain of its own, one with two children, one that is completed at once.
fn begin(kit: &Kit) {
    let gates = json!({
        "plan->build": [
            { "check": "artifact_exists", "phase": "plan", "kind": "été" },
            { "check": "approval", "role": "operator", "tier": "soft" },
        ],
        "build->review": [{ "check": "agents_complete" }],
        "review->done": [{ "check": "verdict_clean" }],
    });
    for request in [
        json!({
            "project": "web", "goal": "Ship the parser's \"été\"", "gates": gates,
            "phases": ["plan", "build", "review", "done"], "token_budget": 1_000,
            "budget_enforced": true, "max_dispatches": 3, "max_per_kind": { "reviewer": 1 },
            "metadata": { "z": 0.1, "a": [1, null, "é"] },
        }),
        json!({
            "project": "web", "goal": "the whole",
            "children": [{ "goal": "a part" }, { "goal": "another", "project": "project" }],
        }),
        json!({
            "project": "web", "goal": "short", "phases": ["a", "b"], "gates": { "a->b": [] },
        }),
    ] {
        call(kit, &Actor::OPERATOR, "create_run", request);
    }
}

/// What Red adds to the first run, and what is withdrawn, refused and changed.
fn evidence(kit: &Kit, red: &Actor) {
    let operator = &Actor::OPERATOR;
    let artifact =
        |kind: &str, path: &str| json!({ "run": 1, "phase": "plan", "kind": kind, "path": path });
    must_be_refused(kit, json!({ "run": 1 }));
    for (who, name, request) in [
        (red, "add_artifact", artifact("draft", "docs/draft.md")),
        (red, "add_artifact", artifact("été", "docs/[plan].md")),
        (
            red,
            "withdraw_artifact",
            json!({ "run": 1, "artifact": 1, "reason": "it's old" }),
        ),
        (
            red,
            "add_run_agent",
            json!({ "run": 1, "agent": "Red", "role": "author" }),
        ),
        (
            red,
            "finish_run_agent",
            json!({ "run": 1, "agent": "Red", "outcome": "completed" }),
        ),
        (
            red,
            "record_verdict",
            json!({ "run": 1, "verdict": "pass", "summary": "two\nlines" }),
        ),
        (
            operator,
            "approve",
            json!({ "run": 1, "phase": "plan", "note": "good" }),
        ),
        (
            red,
            "reserve_files",
            json!({ "paths": ["src/parser"], "run": 2, "ttl": "2h" }),
        ),
    ] {
        call(kit, who, name, request);
    }
    let standing = call(kit, operator, "run_status", json!({ "run": 1 }));
    let update = json!({
        "run": 1, "goal": "Ship it", "token_budget": 2_000, "max_dispatches": null,
        "metadata": { "a": null, "k": 1 },
        "expected_revision": standing.answer["run"]["revision"],
    });
    call(kit, operator, "update_run", update);
}

/// A gate that refuses leaves an event, too.
fn must_be_refused(kit: &Kit, request: Value) {
    let refused = called(kit, &Actor::OPERATOR, "advance_run", request);
    assert!(matches!(refused, Err(Error::GateRefused { .. })));
}
