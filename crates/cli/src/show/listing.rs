//! Lists of messages: a line for the head, a line for the beginning.

use comfy_table::{ContentArrangement, Table, presets};
use serde_json::Value;

use super::ago::{ago, length};
use super::field::{field, is, list};
use super::harmless::harmless;

/// Characters of one line of a subject or a beginning.
const LINE_CHARS_MAX: usize = 100;

/// Writes what somebody got.
pub(crate) fn inbox(page: &Value) -> String {
    let titles = ["id", "from", "sent", "marks", "importance", "subject"];
    listing(page, &titles, |entry| {
        vec![
            field(entry, "id"),
            field(entry, "from"),
            ago(&field(entry, "created_at")),
            marks(entry),
            importance(entry),
            subject(entry, "preview"),
        ]
    })
}

/// Writes what was found.
pub(crate) fn hits(page: &Value) -> String {
    let titles = ["id", "thread", "from", "sent", "subject"];
    listing(page, &titles, |hit| {
        vec![
            field(hit, "id"),
            field(hit, "thread_id"),
            field(hit, "from"),
            ago(&field(hit, "created_at")),
            subject(hit, "snippet"),
        ]
    })
}

/// Writes what a scope holds.
pub(crate) fn states(page: &Value) -> String {
    let titles = ["key", "version", "bytes", "saved by", "saved", "for"];
    listing(page, &titles, |state| {
        let left_ms = state.get("ttl_remaining_ms").and_then(Value::as_i64);
        vec![
            field(state, "key"),
            field(state, "version"),
            field(state, "bytes"),
            field(state, "saved_by"),
            ago(&field(state, "saved_at")),
            left_ms.map_or("good".to_owned(), length),
        ]
    })
}

/// Writes a page, a row for each item.
pub(super) fn listing(
    page: &Value,
    titles: &[&str],
    row: impl Fn(&Value) -> Vec<String>,
) -> String {
    let text = columns(titles, list(page, "items").iter().map(row));
    match page.get("next").and_then(Value::as_str) {
        Some(next) => format!("{text}\nmore with --after {}", harmless(next)),
        None => text,
    }
}

/// Writes rows below their titles.
pub(super) fn columns(titles: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(titles);
    table.add_rows(rows);
    if table.is_empty() {
        return "none".to_owned();
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    let lines = table.lines().map(|line| line.trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n")
}

/// A dot for what is not read, and how the acknowledgement stands.
fn marks(entry: &Value) -> String {
    let given = |name| !field(entry, name).is_empty();
    let unread = if given("read_at") { "" } else { "●" };
    let ack = match (is(entry, "ack_required"), given("acked_at")) {
        (_, true) => "✓",
        (true, false) => "!",
        (false, false) => "",
    };
    format!("{unread}{ack}")
}

fn importance(entry: &Value) -> String {
    match field(entry, "importance") {
        usual if usual == "normal" => String::new(),
        other => other,
    }
}

/// The subject, and below it the beginning where there is one.
fn subject(item: &Value, beginning: &str) -> String {
    let subject = cut(&field(item, "subject"));
    match cut(&field(item, beginning)) {
        nothing if nothing.is_empty() => subject,
        beginning => format!("{subject}\n  {beginning}"),
    }
}

/// Cuts a text to what one line of a table holds.
pub(super) fn cut(text: &str) -> String {
    let mut letters = text.chars();
    let kept: String = letters.by_ref().take(LINE_CHARS_MAX).collect();
    match letters.next() {
        None => kept,
        Some(_) => format!("{kept}…"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_box_is_lines_with_marks_and_beginnings() {
        let entry = |id: i64, more: Value| {
            let mut entry = json!({
                "id": id, "from": "Green", "created_at": "no time", "importance": "normal",
                "subject": "tests", "ack_required": false, "read_at": null, "acked_at": null
            });
            for (name, value) in more.as_object().unwrap() {
                entry[name] = value.clone();
            }
            entry
        };
        let unread = entry(
            12,
            json!({ "importance": "urgent", "ack_required": true, "preview": "a\nb\u{1b}[2J" }),
        );
        let read = entry(
            9,
            json!({ "read_at": "t", "acked_at": "t", "subject": "日本" }),
        );
        let page = json!({ "items": [unread, read], "next": "9" });
        let shown = [
            "id  from   sent     marks  importance  subject",
            "12  Green  no time  ●!     urgent      tests",
            "                                         a\\nb\\u{1b}[2J",
            "9   Green  no time  ✓                  日本",
            "more with --after 9",
        ];
        assert_eq!(inbox(&page), shown.join("\n"));
        assert_eq!(hits(&json!({ "items": [] })), "none");
    }
}
