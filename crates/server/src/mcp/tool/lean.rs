//! Few words: what an agent acts on, and nothing it can ask for later.

use serde_json::{Map, Value};

use super::untrusted::Marks;

/// Keeps the named fields that say something.
pub(super) fn only(entity: &Value, names: &[&str]) -> Map<String, Value> {
    let says_something =
        |value: &&Value| !value.is_null() && *value != "" && *value != false && !is_empty(value);
    let field = |name: &&str| {
        let value = entity.get(*name).filter(says_something)?;
        Some(((*name).to_owned(), value.clone()))
    };
    names.iter().filter_map(field).collect()
}

fn is_empty(value: &Value) -> bool {
    value.as_array().is_some_and(Vec::is_empty)
}

/// Marks some fields of an entity as somebody else's words.
pub(super) fn marked(entity: &Value, names: &[&str], marks: &Marks) -> Value {
    let mut entity = entity.clone();
    for name in names {
        let text = entity.get(*name).and_then(Value::as_str);
        let around = text
            .filter(|text| !text.is_empty())
            .map(|text| marks.around(text));
        if let (Some(around), Value::Object(fields)) = (around, &mut entity) {
            fields.insert((*name).to_owned(), around.into());
        }
    }
    entity
}

/// Marks some fields of every item of a list.
pub(super) fn each_marked(list: Option<&Value>, names: &[&str], marks: &Marks) -> Vec<Value> {
    let items = list.and_then(Value::as_array).into_iter().flatten();
    items.map(|item| marked(item, names, marks)).collect()
}

/// Shows a message as an agent needs it, its words marked as somebody else's.
pub(super) fn message(message: &Value, marks: &Marks) -> Value {
    let heads = [
        "id",
        "from",
        "to",
        "cc",
        "bcc",
        "reply_to",
        "ack_required",
        "created_at",
        "delivery",
        "read_at",
        "acked_at",
    ];
    let mut lean = only(message, &heads);
    if message.get("delivery") == Some(&"to".into()) {
        lean.remove("delivery");
    }
    if message.get("thread_id") != message.get("id") {
        lean.extend(only(message, &["thread_id"]));
    }
    if message.get("importance") != Some(&"normal".into()) {
        lean.extend(only(message, &["importance"]));
    }
    let attached = each_marked(message.get("attachments"), &["name"], marks);
    if !attached.is_empty() {
        lean.insert("attachments".to_owned(), attached.into());
    }
    for words in ["topic", "subject", "preview", "body", "snippet"] {
        if let Some(marked) = marks.field(message, words) {
            lean.insert(words.to_owned(), marked);
        }
    }
    Value::Object(lean)
}

/// Shows a page of messages under a name.
pub(super) fn messages(name: &str, page: &Value, marks: &Marks) -> Value {
    let items = page.get("items").and_then(Value::as_array);
    let items: Vec<Value> = items
        .into_iter()
        .flatten()
        .map(|item| message(item, marks))
        .collect();
    let mut lean = only(page, &["next"]);
    if !items.is_empty() {
        lean.insert("note".to_owned(), marks.note());
    }
    lean.insert(name.to_owned(), items.into());
    Value::Object(lean)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_message_keeps_what_says_something_and_its_words_are_marked() {
        let marks = Marks::new();
        let whole = json!({
            "id": 7, "thread_id": 7, "from": "Blue", "from_id": 1, "subject": "s", "body": "b", "revision": 1,
            "importance": "normal", "ack_required": false, "topic": null, "attachments": [], "delivery": "to",
        });
        let expected = json!({
            "id": 7, "from": "Blue", "subject": marks.around("s"), "body": marks.around("b"),
        });
        assert_eq!(message(&whole, &marks), expected);
    }
}
