//! Conversations: whole, and in short.

use serde_json::Value;

use super::ago::ago;
use super::field::{field, is, list, names};
use super::harmless::harmless;
use super::words::{carried, words};

/// Writes messages one after the other.
pub(crate) fn conversation(page: &Value, whole: &str) -> String {
    let messages = list(page, "items");
    if messages.is_empty() {
        return "none".to_owned();
    }
    let mut lines = Vec::new();
    for message in messages {
        let (id, from) = (field(message, "id"), field(message, "from"));
        let to = [
            ("to", " to "),
            ("cc", ", copy to "),
            ("bcc", ", hidden to "),
        ];
        let to = to.map(|(named, word)| match names(message, named) {
            nobody if nobody.is_empty() => nobody,
            names => format!("{word}{names}"),
        });
        let (to, age) = (to.concat(), ago(&field(message, "created_at")));
        let (subject, weight) = (field(message, "subject"), weight(message));
        lines.push(format!(
            "--- message {id} from {from}{to}, {age}{weight}: {subject} ---"
        ));
        lines.extend(words(message));
        lines.extend(carried(message));
        lines.push(String::new());
    }
    lines.push(match page.get("next").and_then(Value::as_str) {
        Some(next) => format!("more with --after {}", harmless(next)),
        None => format!("--- end of {whole} ---"),
    });
    lines.join("\n")
}

/// Writes a thread in short.
pub(crate) fn summary(answer: &Value) -> String {
    let mut lines = vec![
        format!("thread        {}", field(answer, "thread_id")),
        format!("subject       {}", field(answer, "subject")),
        format!("participants  {}", names(answer, "participants")),
        format!("messages      {}", field(answer, "messages")),
    ];
    for open in list(answer, "open_acks") {
        let (agent, id) = (field(open, "agent"), field(open, "message_id"));
        lines.push(format!(
            "open          {agent} has not acknowledged message {id}"
        ));
    }
    if let Some(last) = answer.get("last").filter(|last| last.is_object()) {
        let (id, from) = (field(last, "id"), field(last, "from"));
        let age = ago(&field(last, "created_at"));
        lines.push(format!(
            "\n--- message {id}, the last word, {from}'s, {age} ---"
        ));
        lines.extend(words(last));
        lines.push(format!("--- end of message {id} ---"));
    }
    lines.join("\n")
}

/// How much a message matters, where that is to be said.
fn weight(message: &Value) -> String {
    let importance = match field(message, "importance") {
        usual if usual == "normal" => String::new(),
        word => format!(", {word}"),
    };
    let ack = if is(message, "ack_required") {
        ", asks for an acknowledgement"
    } else {
        ""
    };
    format!("{importance}{ack}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn messages_follow_each_other_with_their_heads() {
        let message = json!({
            "id": 7, "from": "Green", "to": ["Red"], "cc": ["Gold"], "subject": "a\nb",
            "importance": "high", "ack_required": true, "created_at": "no time",
            "body": "x\n--- end of the thread ---",
            "attachments": [{ "name": "x", "bytes": 3, "sha256": "ab" }]
        });
        let page = json!({ "items": [message], "next": null });
        assert_eq!(
            conversation(&page, "the thread"),
            "--- message 7 from Green to Red, copy to Gold, no time, high, asks for an acknowledgement: a\\nb ---\n  \
             x\n  --- end of the thread ---\nattached    x, 3 bytes, ab\n\n--- end of the thread ---"
        );
    }

    #[test]
    fn a_summary_ends_with_the_last_word() {
        let answer = json!({
            "thread_id": 4, "subject": "tests", "participants": ["Green", "Red"], "messages": 2,
            "open_acks": [{ "message_id": 4, "agent": "Red" }],
            "last": { "id": 5, "from": "Red", "created_at": "no time", "preview": "ok" }
        });
        assert_eq!(
            summary(&answer),
            "thread        4\nsubject       tests\nparticipants  Green, Red\nmessages      2\n\
             open          Red has not acknowledged message 4\n\n\
             --- message 5, the last word, Red's, no time ---\n  ok\n--- end of message 5 ---"
        );
    }
}
