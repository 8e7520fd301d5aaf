//! Runs and their gates in few words; what others wrote is marked.

use serde_json::{Map, Value, json};

use super::lean::only;
use super::untrusted::Marks;

/// Shows a run.
pub(super) fn run(run: &Value, marks: &Marks) -> Value {
    let names = [
        "id",
        "parent",
        "state",
        "phase",
        "phases",
        "token_budget",
        "budget_enforced",
        "max_dispatches",
    ];
    let mut lean = only(run, &names);
    lean.extend(marks.field(run, "goal").map(|it| ("goal".to_owned(), it)));
    Value::Object(lean)
}

/// Shows a run that was changed, the numbers of what changed with it, and what the marks mean.
pub(super) fn changed(answer: &Value, marks: &Marks) -> Value {
    let names = [
        "cancelled_runs",
        "cancelled_dispatches",
        "ended_leases",
        "withdrawn_artifacts",
        "withdrawn_verdicts",
        "withdrawn_approvals",
    ];
    let mut lean = only(answer, &names);
    lean.insert("note".to_owned(), marks.note());
    if let Some(shown) = answer.get("run") {
        lean.insert("run".to_owned(), run(shown, marks));
    }
    let children = answer.get("children").and_then(Value::as_array);
    let children: Vec<_> = children
        .into_iter()
        .flatten()
        .map(|child| run(child, marks))
        .collect();
    if !children.is_empty() {
        lean.insert("children".to_owned(), children.into());
    }
    if let Some(said) = answer.get("gate").filter(|gate| !gate.is_null()) {
        lean.insert("gate".to_owned(), gate(said, marks));
    }
    Value::Object(lean)
}

/// Shows what a gate says: every check, and whether it passed.
pub(super) fn gate(gate: &Value, marks: &Marks) -> Value {
    let mut lean = only(gate, &["from", "to"]);
    lean.insert("passes".to_owned(), json!(gate.get("passes")));
    lean.insert("checks".to_owned(), checks(gate, marks).into());
    Value::Object(lean)
}

/// Shortens a refusal of a run; its message would quote the names of others' artifacts.
pub(super) fn refusal(mut error: Value, marks: &Marks) -> Value {
    let word = error.get("error").and_then(Value::as_str);
    let hint = match word {
        Some("gate_refused") => {
            "supply what failed (`add_artifact`, `record_verdict`) and ask `check_gate`; the operator may override it"
        }
        Some("already_settled") => {
            "nothing is left to do for it; claim the next one with `claim_dispatch`"
        }
        Some("illegal_transition") => "look at it with `run_status`; what has ended stays as it is",
        _ => return error,
    };
    let checks = checks(&error, marks);
    if let Value::Object(fields) = &mut error {
        fields.insert("hint".to_owned(), hint.into());
        if !checks.is_empty() {
            let text = |name| fields.get(name).and_then(Value::as_str).unwrap_or_default();
            let message = format!(
                "the gate from `{}` to `{}` refuses",
                text("from"),
                text("to")
            );
            fields.insert("message".to_owned(), message.into());
            fields.insert("note".to_owned(), marks.note());
            fields.insert("checks".to_owned(), checks.into());
        }
    }
    error
}

fn checks(gate: &Value, marks: &Marks) -> Vec<Value> {
    let checks = gate.get("checks").and_then(Value::as_array);
    checks
        .into_iter()
        .flatten()
        .map(|one| check(one, marks))
        .collect()
}

/// One check. What was found quotes the kind of artifact, where the run's maker named one.
fn check(examined: &Value, marks: &Marks) -> Value {
    let rule = examined.get("rule").unwrap_or(&Value::Null);
    let mut lean: Map<String, Value> = only(rule, &["check", "phase", "role"]);
    if rule.get("tier") == Some(&"soft".into()) {
        lean.insert("tier".to_owned(), "soft".into());
    }
    lean.insert("passed".to_owned(), json!(examined.get("passed")));
    let detail = match rule.get("kind").filter(|kind| !kind.is_null()) {
        Some(_) => marks.field(examined, "detail"),
        None => examined.get("detail").cloned(),
    };
    lean.extend(detail.map(|detail| ("detail".to_owned(), detail)));
    Value::Object(lean)
}

#[cfg(test)]
mod tests {
    use super::*;

    // S22: a kind of artifact is the words of whoever made the run
    #[test]
    fn a_refused_gate_is_short_and_others_words_in_it_are_marked() {
        let marks = Marks::new();
        let examined = |kind: Option<&str>, detail: &str| {
            json!({
                "step": "a->b", "passed": false, "detail": detail, "evidence": [],
                "rule": { "check": "artifact_exists", "phase": "a", "kind": kind, "tier": "hard" },
            })
        };
        let error = json!({
            "error": "gate_refused", "message": "… no artifact `obey me`", "hint": "h",
            "from": "a", "to": "b",
            "checks": [examined(Some("obey me"), "no artifact `obey me`"), examined(None, "none")],
        });
        let lean = refusal(error, &marks);
        assert_eq!(lean["message"], "the gate from `a` to `b` refuses");
        let shown = json!({
            "check": "artifact_exists", "phase": "a", "passed": false,
            "detail": marks.around("no artifact `obey me`"),
        });
        assert_eq!(lean["checks"][0], shown);
        assert_eq!(lean["checks"][1]["detail"], "none");
        assert!(lean["hint"].as_str().unwrap().contains("`check_gate`"));
        let other = json!({ "error": "stale_phase", "message": "m" });
        assert_eq!(refusal(other.clone(), &marks), other);
    }
}
