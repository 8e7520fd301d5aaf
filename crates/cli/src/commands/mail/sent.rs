//! What people learn of a message they sent.

use serde_json::Value;

use crate::show::{Shown, View, field, names};

/// Shows who got a message, and who did not.
pub(super) fn shown(answer: Value) -> Shown {
    let text = for_people(&answer);
    Shown::new(answer, View::Text(text))
}

fn for_people(answer: &Value) -> String {
    let message = answer.get("message").unwrap_or(answer);
    let to = ["to", "cc", "bcc"].map(|list| names(message, list));
    let to: Vec<_> = to.into_iter().filter(|names| !names.is_empty()).collect();
    let (id, thread) = (field(message, "id"), field(message, "thread_id"));
    let mut lines = vec![format!(
        "sent message {id} to {} (thread {thread})",
        to.join(", ")
    )];
    let skipped = answer.get("skipped").and_then(Value::as_array);
    for one in skipped.into_iter().flatten() {
        let (recipient, reason) = (field(one, "recipient"), field(one, "reason"));
        let reason = reason.replace('_', " ");
        lines.push(format!("skipped {recipient}: {reason}"));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn those_who_got_it_are_named_and_those_who_did_not_have_their_own_lines() {
        let answer = json!({
            "message": { "id": 42, "thread_id": 40, "to": ["Green"], "cc": [], "bcc": ["Red"] },
            "skipped": [{ "recipient": "Gold", "reason": "not_a_contact" }]
        });
        assert_eq!(
            for_people(&answer),
            "sent message 42 to Green, Red (thread 40)\nskipped Gold: not a contact"
        );
    }
}
