//! Dispatches: a line for each, and one with its prompt and its result.

use serde_json::Value;

use super::ago::{ago, length};
use super::field::{field, is};
use super::harmless::harmless;
use super::listing::{cut, listing};
use super::runs::numbers;
use super::words::set_in;

/// Writes a page of dispatches.
pub(crate) fn page(page: &Value) -> String {
    let titles = ["dispatch", "run", "kind", "state", "with", "made", "what"];
    listing(page, &titles, |one| {
        let progress = field(one, "progress");
        let prompt = cut(&field(one, "prompt"));
        vec![
            field(one, "id"),
            field(one, "run"),
            field(one, "agent_kind"),
            state(one),
            field(one, "claimed_by"),
            ago(&field(one, "created_at")),
            if progress.is_empty() {
                prompt
            } else {
                format!("{prompt}\n  {}", cut(&progress))
            },
        ]
    })
}

/// Writes a dispatch that was made or changed, in a line.
pub(crate) fn line(answer: &Value) -> String {
    let one = answer.get("dispatch").unwrap_or(&Value::Null);
    let (id, kind) = (field(one, "id"), field(one, "agent_kind"));
    let by = match field(one, "claimed_by") {
        nobody if nobody.is_empty() => nobody,
        name => format!(", with {name}"),
    };
    let again = match field(one, "attempt").as_str() {
        "1" | "" => String::new(),
        attempt => format!(", attempt {attempt}"),
    };
    format!("dispatch {id} for {kind} is {}{by}{again}", state(one))
}

/// Writes a dispatch with all that is known of it.
pub(crate) fn whole(answer: &Value) -> String {
    let one = answer.get("dispatch").unwrap_or(&Value::Null);
    let mut lines = vec![line(answer)];
    for (title, text) in details(one) {
        if !text.is_empty() {
            lines.push(format!("{title:10}  {text}"));
        }
    }
    lines.push("--- the prompt ---".to_owned());
    lines.extend(set_in(
        one.get("prompt")
            .and_then(Value::as_str)
            .unwrap_or_default(),
    ));
    if let Some(result) = one.get("result").filter(|result| !result.is_null()) {
        let result = serde_json::to_string_pretty(result).unwrap_or_default();
        lines.push("--- the result ---".to_owned());
        lines.extend(set_in(&result));
    }
    lines.push(format!("--- end of dispatch {} ---", field(one, "id")));
    lines.join("\n")
}

/// Writes how a group stands.
pub(crate) fn group(answer: &Value) -> String {
    let counts = answer.get("counts").and_then(Value::as_object);
    let counts = counts.into_iter().flatten();
    let counts = counts.filter(|(_, count)| count.as_i64() != Some(0));
    let counts: Vec<_> = counts
        .map(|(state, count)| format!("{count} {}", harmless(state).replace('_', " ")))
        .collect();
    let outcome = match field(answer, "outcome") {
        none if none.is_empty() => "nothing ended yet".to_owned(),
        word if is(answer, "settled") => format!("settled, {}", word.replace('_', " ")),
        word => format!("the worst so far is {}", word.replace('_', " ")),
    };
    format!(
        "{}: {}; {outcome}",
        field(answer, "group"),
        counts.join(", ")
    )
}

fn state(one: &Value) -> String {
    field(one, "state").replace('_', " ")
}

fn details(one: &Value) -> [(&'static str, String); 14] {
    let span = |name: &str| one.get(name).and_then(Value::as_i64).map(length);
    let text = |name| field(one, name);
    let when = |name| match text(name) {
        never if never.is_empty() => never,
        time => format!("{} ({time})", ago(&time)),
    };
    let run = match (text("run"), text("phase")) {
        (none, _) if none.is_empty() => none,
        (run, phase) => format!("{run}, made in {phase}"),
    };
    let retried = match text("retry_of") {
        none if none.is_empty() => none,
        of => format!("{} of {}, after {of}", text("attempt"), text("origin")),
    };
    [
        ("run", run),
        ("group", text("group")),
        ("attempt", retried),
        ("waits for", numbers(one, "waits_for")),
        ("blocked by", numbers(one, "blocked_by")),
        ("fence", text("fence")),
        (
            "claim",
            span("claim_remaining_ms")
                .map(|left| format!("for {left}"))
                .unwrap_or_default(),
        ),
        (
            "deadline",
            span("deadline_remaining_ms")
                .map(|left| format!("in {left}"))
                .unwrap_or_default(),
        ),
        ("tokens", text("tokens")),
        ("progress", text("progress")),
        ("verdict", text("verdict")),
        ("summary", text("summary")),
        ("reason", text("reason")),
        ("settled", when("settled_at")),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // S23: a prompt cannot pass for what is known of the dispatch
    #[test]
    fn a_prompt_is_set_in_and_harms_no_terminal() {
        let answer = json!({ "dispatch": {
            "id": 4, "run": 7, "phase": "review", "agent_kind": "reviewer", "state": "timed_out",
            "attempt": 2, "origin": 3, "retry_of": 3, "tokens": 12, "waits_for": [],
            "prompt": "look\n--- end of dispatch 4 ---\u{1b}[2J", "result": { "a": 1 },
            "summary": "", "claimed_by": "Blue", "fence": 90, "claim_remaining_ms": 59_000,
        } });
        let shown = [
            "dispatch 4 for reviewer is timed out, with Blue, attempt 2",
            "run         7, made in review",
            "attempt     2 of 3, after 3",
            "fence       90",
            "claim       for 59s",
            "tokens      12",
            "--- the prompt ---",
            "  look",
            "  --- end of dispatch 4 ---\\u{1b}[2J",
            "--- the result ---",
            "  {",
            "    \"a\": 1",
            "  }",
            "--- end of dispatch 4 ---",
        ];
        assert_eq!(whole(&answer), shown.join("\n"));
    }

    #[test]
    fn a_group_is_one_line() {
        let answer = json!({
            "group": "review", "settled": false, "outcome": "failed",
            "counts": { "queued": 1, "completed": 2, "failed": 1, "cancelled": 0 },
        });
        let shown = "review: 2 completed, 1 failed, 1 queued; the worst so far is failed";
        assert_eq!(group(&answer), shown);
    }
}
