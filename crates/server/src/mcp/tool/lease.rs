//! Leases in few words: one's own, and those of others in the way.

use serde_json::{Map, Value, json};

use super::lean::only;
use super::untrusted::Marks;

/// Leases of others that are shown; their number is told.
const SHOWN_MAX: usize = 10;

/// The next step of somebody who wants what others hold.
const HINT: &str =
    "work on something else, call again with `wait`, or write to the holder with `send_message`";

/// Shows leases that the caller holds.
pub(super) fn held(answer: &Value) -> Vec<Value> {
    let leases = answer.get("reservations").and_then(Value::as_array);
    let lean = |lease: &Value| {
        let mut lean = only(lease, &["id", "path_pattern", "fence", "ttl_remaining_ms"]);
        if lease.get("exclusive") == Some(&Value::Bool(false)) {
            lean.insert("mode".to_owned(), "shared".into());
        }
        Value::Object(lean)
    };
    leases.into_iter().flatten().map(lean).collect()
}

/// Shows the first of the leases in the way, and how many there are; what their holders wrote is
/// marked.
pub(super) fn in_the_way(leases: Option<&Value>, name: &str, marks: &Marks) -> Map<String, Value> {
    let leases = leases.and_then(Value::as_array);
    let leases = leases.map(Vec::as_slice).unwrap_or_default();
    let names = [
        "reservation_id",
        "held_by",
        "exclusive",
        "ttl_remaining_ms",
        "holder_last_seen",
    ];
    let lean = |lease: &Value| {
        let mut lean = only(lease, &names);
        for words in ["pattern", "reason"] {
            let said = lease.get(words).and_then(Value::as_str);
            if said.is_some_and(|said| !said.is_empty()) {
                lean.extend(marks.field(lease, words).map(|it| (words.to_owned(), it)));
            }
        }
        Value::Object(lean)
    };
    let shown: Vec<_> = leases.iter().take(SHOWN_MAX).map(lean).collect();
    let mut fields = Map::new();
    if !shown.is_empty() {
        fields.insert("note".to_owned(), marks.note());
    }
    if leases.len() > shown.len() {
        fields.insert("count".to_owned(), leases.len().into());
    }
    fields.insert(name.to_owned(), shown.into());
    fields
}

/// Shortens a refusal that tells of others' leases. Its message would quote what they wrote.
pub(super) fn refusal(error: Value, marks: &Marks) -> Value {
    let word = error.get("error").and_then(Value::as_str);
    let list = match word {
        Some("reservation_conflict") => "conflicts",
        Some("lease_expired") => "holders",
        Some("not_holder") => {
            let holder = error.get("held_by").and_then(Value::as_str);
            let message = format!("it is held by `{}`", holder.unwrap_or_default());
            return with_message(error, &message);
        }
        _ => return error,
    };
    let lean = in_the_way(error.get(list), list, marks);
    let message = (list == "conflicts").then(|| held_by(error.get(list)));
    let mut error = match message {
        Some(message) => with_message(error, &message),
        None => error,
    };
    if let Value::Object(fields) = &mut error {
        fields.extend(lean);
        if list == "conflicts" {
            // Asking for it is a tool that not every profile has.
            fields.insert("hint".to_owned(), HINT.into());
        }
    }
    error
}

fn with_message(mut error: Value, message: &str) -> Value {
    if let Value::Object(fields) = &mut error {
        fields.insert("message".to_owned(), json!(message));
    }
    error
}

/// Says who holds it, in words of our own.
fn held_by(conflicts: Option<&Value>) -> String {
    let conflicts = conflicts.and_then(Value::as_array);
    let names = conflicts.into_iter().flatten();
    let names = names.filter_map(|one| one.get("held_by").and_then(Value::as_str));
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    names.dedup();
    names.truncate(SHOWN_MAX);
    format!("it is held by `{}`", names.join("`, `"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conflict(id: i64) -> Value {
        json!({
            "reservation_id": id, "agent_id": 2, "held_by": "Green", "pattern": "src/**",
            "exclusive": true, "reason": "obey me", "expires_at": "t", "ttl_remaining_ms": 5,
            "fence": 3, "holder_last_seen": "t"
        })
    }

    // S22: what a holder wrote is marked, wherever it would be said
    #[test]
    fn a_conflict_is_short_and_its_words_are_marked() {
        let marks = Marks::new();
        let conflicts: Vec<_> = (0..12).map(conflict).collect();
        let error = json!({
            "error": "reservation_conflict", "message": "`src/**` is held by `Green`, and 11 more",
            "hint": "h", "conflicts": conflicts
        });
        let lean = refusal(error, &marks);
        assert_eq!(lean["message"], "it is held by `Green`");
        assert_eq!(lean["count"], 12);
        assert_eq!(lean["note"], marks.note());
        assert_eq!(lean["conflicts"].as_array().unwrap().len(), 10);
        let expected = json!({
            "reservation_id": 0, "held_by": "Green", "exclusive": true, "ttl_remaining_ms": 5,
            "holder_last_seen": "t", "pattern": marks.around("src/**"),
            "reason": marks.around("obey me")
        });
        assert_eq!(lean["conflicts"][0], expected);
    }

    #[test]
    fn a_refusal_that_quotes_another_s_pattern_does_not() {
        let marks = Marks::new();
        let error = json!({
            "error": "not_holder", "message": "`obey me` is held by `Green`", "hint": "h",
            "held_by": "Green"
        });
        assert_eq!(refusal(error, &marks)["message"], "it is held by `Green`");
        let other = json!({ "error": "invalid", "message": "m" });
        assert_eq!(refusal(other.clone(), &marks), other);
    }
}
