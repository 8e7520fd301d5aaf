//! Runs: a line for each, and one as it stands.

use comity_domain::RunId;
use serde_json::Value;

use super::ago::ago;
use super::field::{field, is, list};
use super::gates;
use super::harmless::harmless;
use super::listing::{columns, cut, listing};

/// Writes a page of runs.
pub(crate) fn page(page: &Value) -> String {
    let titles = ["run", "project", "state", "phase", "began", "goal"];
    listing(page, &titles, |run| {
        let part = field(run, "parent");
        let goal = cut(&field(run, "goal"));
        vec![
            field(run, "id"),
            field(run, "project"),
            field(run, "state"),
            field(run, "phase"),
            ago(&field(run, "created_at")),
            if part.is_empty() {
                goal
            } else {
                format!("{goal} (part of {part})")
            },
        ]
    })
}

/// Writes a run that was created or changed, and the parts that were created with it.
pub(crate) fn changed(answer: &Value) -> String {
    let run = answer.get("run").into_iter();
    let all = run.chain(list(answer, "children"));
    all.map(line).collect::<Vec<_>>().join("\n")
}

/// Writes a run that was ended or taken back, and exactly what that changed.
pub(crate) fn undone(answer: &Value) -> String {
    let what = [
        ("cancelled_runs", "cancelled runs"),
        ("withdrawn_artifacts", "withdrew artifacts"),
        ("withdrawn_verdicts", "withdrew verdicts"),
        ("withdrawn_approvals", "withdrew approvals"),
        ("cancelled_dispatches", "cancelled dispatches"),
        ("ended_leases", "ended leases"),
    ];
    let done = what
        .into_iter()
        .filter(|(name, _)| !list(answer, name).is_empty())
        .map(|(name, words)| format!("{words} {}", numbers(answer, name)));
    let lines = answer.get("run").map(line).into_iter().chain(done);
    lines.collect::<Vec<_>>().join("\n")
}

/// Writes how a run stands.
pub(crate) fn status(answer: &Value) -> String {
    let nothing = Value::Null;
    let run = answer.get("run").unwrap_or(&nothing);
    let mut rows = vec![("phases", chain(run, answer))];
    if let Some(gate) = answer.get("gate").filter(|gate| !gate.is_null()) {
        rows.push(("gate", gates::verdict(gate)));
    }
    rows.extend([
        (
            "agents",
            format!("{} at work", field(answer, "agents_active")),
        ),
        ("dispatches", counts(answer)),
        ("tokens", tokens(answer, run)),
    ]);
    if !list(answer, "children").is_empty() {
        rows.push(("children", numbers(answer, "children")));
    }
    let when = match field(answer, "at") {
        now if now.is_empty() => String::new(),
        at => format!("as of {at}: "),
    };
    let head = format!("{when}{}", line(run));
    let rows = columns(
        &["", ""],
        rows.into_iter()
            .map(|(title, text)| vec![title.to_owned(), text]),
    );
    let rows = rows.lines().skip(1);
    std::iter::once(head.as_str())
        .chain(rows)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Returns the next step of somebody whose wish for a run was refused.
pub(crate) fn next_step(error: &Value, run: RunId) -> Option<String> {
    let word = error.get("error").and_then(Value::as_str)?;
    match word {
        "gate_refused" => Some(format!(
            "supply what the failed checks name, look again with `comity gate check {run}`; the operator may `comity gate override {run} --reason WHY`"
        )),
        "stale_phase" => Some(format!(
            "look at it with `comity run status {run}`, and repeat with the phase it is in if you still mean it"
        )),
        "illegal_transition" if error.get("state") == Some(&"paused".into()) => {
            Some(format!("let it go on with `comity run resume {run}`"))
        }
        "illegal_transition" => Some(format!(
            "see how it came to that with `comity run timeline {run}`"
        )),
        _ => None,
    }
}

fn line(run: &Value) -> String {
    let (id, state, phase) = (field(run, "id"), field(run, "state"), field(run, "phase"));
    format!("run {id} {state} in {phase}: {}", cut(&field(run, "goal")))
}

/// The phases in their order: the present one in brackets, those that will be skipped in parentheses.
fn chain(run: &Value, status: &Value) -> String {
    let skipped = status.get("skipped");
    let present = run.get("phase");
    let phase = |phase: &Value| {
        let name = harmless(phase.as_str().unwrap_or_default()).into_owned();
        let is_skipped = skipped.is_some_and(|skipped| skipped.get(&name).is_some());
        match (Some(phase) == present, is_skipped) {
            (true, _) => format!("[{name}]"),
            (false, true) => format!("({name})"),
            (false, false) => name,
        }
    };
    let phases: Vec<_> = list(run, "phases").iter().map(phase).collect();
    phases.join(" → ")
}

fn counts(status: &Value) -> String {
    let counts = status.get("dispatches").and_then(Value::as_object);
    let counts = counts.into_iter().flatten();
    let counts: Vec<_> = counts
        .map(|(state, count)| format!("{count} {}", harmless(state).replace('_', " ")))
        .collect();
    if counts.is_empty() {
        return "none".to_owned();
    }
    counts.join(", ")
}

fn tokens(status: &Value, run: &Value) -> String {
    let used = field(status, "tokens_used");
    let enforced = if is(run, "budget_enforced") {
        ", enforced"
    } else {
        ""
    };
    match field(run, "token_budget") {
        none if none.is_empty() => used,
        budget => format!("{used} of {budget}{enforced}"),
    }
}

/// Writes a list of numbers.
pub(super) fn numbers(answer: &Value, name: &str) -> String {
    let numbers = list(answer, name).iter().map(ToString::to_string);
    harmless(&numbers.collect::<Vec<_>>().join(", ")).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // S23: a goal is somebody else's text
    #[test]
    fn a_run_shows_where_it_stands_and_harms_no_terminal() {
        let gate = json!({
            "from": "plan", "to": "done", "passes": false,
            "checks": [
                { "rule": { "check": "artifact_exists", "phase": "plan", "tier": "hard" },
                  "passed": false, "detail": "no artifact in `plan`" },
                { "rule": { "check": "verdict_exists", "tier": "soft" },
                  "passed": false, "detail": "no verdict in `plan`" },
                { "rule": { "check": "agents_complete", "tier": "hard" },
                  "passed": true, "detail": "no active agent" },
            ],
        });
        let status = json!({
            "run": {
                "id": 7, "state": "active", "phase": "plan", "goal": "ship\u{1b}[2J",
                "phases": ["idea", "plan", "review", "done"], "token_budget": 500,
                "budget_enforced": true,
            },
            "skipped": { "review": "small" }, "gate": gate, "agents_active": 2,
            "dispatches": { "queued": 1, "timed_out": 2 }, "tokens_used": 20, "children": [8, 9],
        });
        let shown = [
            "run 7 active in plan: ship\\u{1b}[2J",
            "phases      idea → [plan] → (review) → done",
            "gate        plan → done refuses",
            "              ✗ artifact_exists: no artifact in `plan`",
            "              ✗ verdict_exists (soft): no verdict in `plan`",
            "              ✓ agents_complete: no active agent",
            "agents      2 at work",
            "dispatches  1 queued, 2 timed out",
            "tokens      20 of 500, enforced",
            "children    8, 9",
        ];
        assert_eq!(super::status(&status), shown.join("\n"));
    }

    #[test]
    fn what_was_undone_is_named() {
        let answer = json!({
            "run": { "id": 7, "state": "cancelled", "phase": "plan", "goal": "g" },
            "cancelled_runs": [7, 8], "cancelled_dispatches": [], "ended_leases": [3],
        });
        let shown = "run 7 cancelled in plan: g\ncancelled runs 7, 8\nended leases 3";
        assert_eq!(undone(&answer), shown);
    }
}
