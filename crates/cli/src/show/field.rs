//! One field of an answer, on one line and harmless.

use serde_json::Value;

use super::harmless::harmless;

/// Writes a field; one that is missing or null is empty.
pub(crate) fn field(value: &Value, name: &str) -> String {
    match value.get(name) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => harmless(text).into_owned(),
        Some(other) => harmless(&other.to_string()).into_owned(),
    }
}

/// Writes a list of names.
pub(crate) fn names(value: &Value, list: &str) -> String {
    let names = value.get(list).and_then(Value::as_array);
    let names = names.into_iter().flatten().filter_map(Value::as_str);
    names.map(harmless).collect::<Vec<_>>().join(", ")
}

/// Returns the things of a list.
pub(super) fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    let list = value.get(name).and_then(Value::as_array);
    list.map(Vec::as_slice).unwrap_or_default()
}

/// Tells whether a field says yes.
pub(super) fn is(value: &Value, name: &str) -> bool {
    value.get(name) == Some(&Value::Bool(true))
}
