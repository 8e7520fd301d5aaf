//! What stands where somebody's words were.

use serde_json::{Map, Value};

/// Stands where somebody's words were.
pub const MARK: &str = "[redacted]";

/// Takes the words out of a text; one without words stays as it is.
pub(crate) fn blank(text: &str) -> String {
    match text {
        "" => String::new(),
        _ => MARK.to_owned(),
    }
}

/// Takes the words out of a text that may not be there.
pub(crate) fn blank_option(text: Option<&String>) -> Option<String> {
    text.map(|text| blank(text))
}

/// Takes everything out of an object.
pub(crate) fn blank_map(map: &Map<String, Value>) -> Map<String, Value> {
    if map.is_empty() {
        return Map::new();
    }
    Map::from_iter([(MARK.to_owned(), Value::Bool(true))])
}

/// Takes everything out of a value.
pub(crate) fn blank_value(value: Option<&Value>) -> Option<Value> {
    value.map(|_| Value::from(MARK))
}
