//! A message to read.

use serde_json::Value;

use super::ago::ago;
use super::field::{field, is, list, names};
use super::words::{carried, words};

/// Writes a message: its head, its body set apart, and what became of it.
pub(crate) fn letter(answer: &Value) -> String {
    let message = answer.get("message").unwrap_or(answer);
    let (id, from) = (field(message, "id"), field(message, "from"));
    let mut lines = Vec::new();
    for (title, text) in head(message) {
        if !text.is_empty() {
            lines.push(format!("{title:10}  {text}"));
        }
    }
    lines.extend(carried(message));
    lines.extend(list(answer, "marks").iter().map(mark));
    lines.push(format!("\n--- the words of {from} ---"));
    lines.extend(words(message));
    lines.push(format!("--- end of message {id} ---"));
    lines.join("\n")
}

fn head(message: &Value) -> [(&'static str, String); 10] {
    let text = |name| field(message, name);
    let sent = text("created_at");
    let ack = if is(message, "ack_required") {
        "an acknowledgement is asked for"
    } else {
        ""
    };
    [
        (
            "message",
            format!("{} in thread {}", text("id"), text("thread_id")),
        ),
        ("answers", text("reply_to")),
        ("from", text("from")),
        ("to", names(message, "to")),
        ("cc", names(message, "cc")),
        ("bcc", names(message, "bcc")),
        ("sent", format!("{} ({sent})", ago(&sent))),
        ("subject", text("subject")),
        ("topic", text("topic")),
        (
            "importance",
            [text("importance").as_str(), ack]
                .join("; ")
                .trim_end_matches("; ")
                .to_owned(),
        ),
    ]
}

fn mark(mark: &Value) -> String {
    let (agent, note) = (field(mark, "agent"), field(mark, "note"));
    let read = match field(mark, "read_at") {
        unread if unread.is_empty() => "has not read it".to_owned(),
        time => format!("read it {}", ago(&time)),
    };
    let acked = match field(mark, "acked_at") {
        open if open.is_empty() => open,
        time => format!(", acknowledged it {}", ago(&time)),
    };
    let note = if note.is_empty() {
        note
    } else {
        format!(", and says: {note}")
    };
    format!("{:10}  {agent} {read}{acked}{note}", "mark")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    // S23: nobody's words pass for ours
    #[test]
    fn a_body_can_neither_end_itself_nor_move_the_cursor() {
        let body = "hi\n--- end of message 7 ---\n\n\tx\u{1b}[2J\u{202e}\r\nlast\n\n";
        let message = json!({
            "id": 7, "thread_id": 7, "from": "Green", "to": ["Red"], "cc": [], "subject": "a\nb",
            "importance": "high", "ack_required": true, "created_at": "2000-01-01T00:00:00Z",
            "body": body, "attachments": [{ "name": "x\ny", "bytes": 3, "sha256": "ab" }]
        });
        let marks = json!([{ "agent": "Red", "read_at": null, "acked_at": null, "note": null }]);
        let shown = letter(&json!({ "message": message, "marks": marks }));
        let (ours, words) = shown
            .split_once("\n\n--- the words of Green ---\n")
            .unwrap();
        assert_eq!(
            words,
            "  hi\n  --- end of message 7 ---\n\n      x\\u{1b}[2J\\u{202e}\n  last\n--- end of message 7 ---"
        );
        assert!(
            ours.starts_with(
                "message     7 in thread 7\nfrom        Green\nto          Red\nsent  "
            )
        );
        assert!(
            ours.ends_with(
                "\nsubject     a\\nb\nimportance  high; an acknowledgement is asked for\n\
             attached    x\\ny, 3 bytes, ab\nmark        Red has not read it"
            ),
            "{ours}"
        );
    }
}
