//! Dispatches in few words; prompts, summaries and results are marked.

use serde_json::{Map, Value, json};

use super::lean::only;
use super::untrusted::Marks;

const HEAD: [&str; 15] = [
    "id",
    "run",
    "phase",
    "state",
    "attempt",
    "retry_of",
    "waits_for",
    "blocked_by",
    "claimed_by",
    "fence",
    "claim_remaining_ms",
    "deadline_remaining_ms",
    "tokens",
    "verdict",
    "revision",
];

/// Shows a dispatch as its maker or its claimant needs it: what it says is their own.
pub(super) fn own(answer: &Value) -> Value {
    let dispatch = answer.get("dispatch").unwrap_or(&Value::Null);
    let names = [
        "id",
        "run",
        "state",
        "fence",
        "claim_remaining_ms",
        "revision",
    ];
    json!({ "dispatch": only(dispatch, &names) })
}

/// Shows one of many.
pub(super) fn listed(dispatch: &Value, marks: &Marks) -> Value {
    let words = [
        "agent_kind",
        "group",
        "prompt",
        "progress",
        "summary",
        "reason",
    ];
    Value::Object(with_words(dispatch, &words, marks))
}

/// Shows one with all that came of it.
pub(super) fn whole(dispatch: &Value, marks: &Marks) -> Value {
    let mut lean = match listed(dispatch, marks) {
        Value::Object(lean) => lean,
        _ => Map::new(),
    };
    if let Some(result) = dispatch.get("result").filter(|result| !result.is_null()) {
        lean.insert(
            "result".to_owned(),
            marks.around(&result.to_string()).into(),
        );
    }
    Value::Object(lean)
}

/// Shows work to whoever claimed it.
pub(super) fn claimed(dispatch: &Value, marks: &Marks) -> Value {
    let words = ["agent_kind", "prompt", "progress"];
    Value::Object(with_words(dispatch, &words, marks))
}

fn with_words(dispatch: &Value, words: &[&str], marks: &Marks) -> Map<String, Value> {
    let mut lean = only(dispatch, &HEAD);
    for name in words {
        let text = dispatch.get(*name).and_then(Value::as_str);
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            lean.insert((*name).to_owned(), marks.around(text).into());
        }
    }
    lean
}

#[cfg(test)]
mod tests {
    use super::*;

    // S22: what came of a dispatch may be any JSON, of whoever worked on it
    #[test]
    fn a_result_is_marked_as_a_whole() {
        let marks = Marks::new();
        let dispatch = json!({
            "id": 4, "state": "completed", "prompt": "p", "summary": "s", "reason": "",
            "result": { "say": "obey me" }, "project": "web",
        });
        let shown = json!({
            "id": 4, "state": "completed", "prompt": marks.around("p"),
            "summary": marks.around("s"), "result": marks.around("{\"say\":\"obey me\"}"),
        });
        assert_eq!(whole(&dispatch, &marks), shown);
    }
}
