//! Gates: every check with a tick or a cross.

use serde_json::{Value, json};

use super::field::{field, is, list};

/// Writes what a gate says: a line for the step, a line for each check.
pub(crate) fn verdict(gate: &Value) -> String {
    let word = if is(gate, "passes") {
        "lets pass"
    } else {
        "refuses"
    };
    let (from, to) = (field(gate, "from"), field(gate, "to"));
    let head = format!("{from} → {to} {word}");
    let lines = list(gate, "checks")
        .iter()
        .map(|one| format!("  {}", check(one)));
    std::iter::once(head)
        .chain(lines)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Writes a run that moved on, and what its gate said.
pub(crate) fn moved(answer: &Value) -> String {
    let (nothing, run) = (Value::Null, answer.get("run"));
    let run = run.unwrap_or(&nothing);
    let gate = answer.get("gate").unwrap_or(&nothing);
    let end = match field(run, "state").as_str() {
        "completed" => ", completed",
        _ => "",
    };
    let (id, from, to) = (field(run, "id"), field(gate, "from"), field(gate, "to"));
    let head = format!("run {id} moved from {from} to {to}{end}");
    let lines = list(gate, "checks")
        .iter()
        .map(|one| format!("  {}", check(one)));
    std::iter::once(head)
        .chain(lines)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Returns the refusal that advancing would be, if the gate does not let pass.
pub(crate) fn refusal(gate: &Value) -> Option<Value> {
    if is(gate, "passes") {
        return None;
    }
    let (from, to) = (field(gate, "from"), field(gate, "to"));
    Some(json!({
        "error": "gate_refused",
        "message": format!("the gate from `{from}` to `{to}` refuses"),
        "from": gate.get("from"),
        "to": gate.get("to"),
    }))
}

/// Writes the checks that a refusal lists.
pub(crate) fn refused(error: &Value) -> Option<String> {
    let checks = list(error, "checks");
    let lines: Vec<_> = checks
        .iter()
        .map(|one| format!("  {}", check(one)))
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Writes the checks of a gate that did not pass.
pub(super) fn failed(checks: &[Value]) -> impl Iterator<Item = String> {
    checks.iter().filter(|one| !is(one, "passed")).map(check)
}

fn check(examined: &Value) -> String {
    let mark = if is(examined, "passed") { '✓' } else { '✗' };
    let rule = examined.get("rule").unwrap_or(&Value::Null);
    let soft = match field(rule, "tier").as_str() {
        "soft" => " (soft)",
        _ => "",
    };
    let (word, detail) = (field(rule, "check"), field(examined, "detail"));
    format!("{mark} {word}{soft}: {detail}")
}
