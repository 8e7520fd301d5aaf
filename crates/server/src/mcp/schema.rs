//! Schemas as agents get them: the registry's, without what costs context and says nothing.

use comity_domain::time::SPAN_FORMAT;
use serde_json::{Map, Value};

/// Keywords that tell a program about its own types and an agent nothing.
const NOISE: [&str; 3] = ["$schema", "title", "format"];

/// Makes a tool's schema of the registry's.
///
/// It admits the same objects, with two exceptions that agents do not miss: `null` for a field
/// that can be left out (some clients know no lists of types), and lengths of time in seconds.
pub(super) fn lean(schema: &Value) -> Map<String, Value> {
    let mut object = schema.as_object().cloned().unwrap_or_default();
    if let Some(Value::Object(fields)) = object.get_mut("properties") {
        drop_seconds(fields);
    }
    clean(&mut object);
    // The protocol demands it of every tool's schema.
    object.insert("type".to_owned(), "object".into());
    object
}

/// Takes out the twins in seconds of lengths of time.
fn drop_seconds(fields: &mut Map<String, Value>) {
    let is_span = |field: &Value| field.get("format").is_some_and(|it| it == SPAN_FORMAT);
    let spans = fields.iter().filter(|(_, field)| is_span(field));
    let twins: Vec<String> = spans.map(|(name, _)| format!("{name}_s")).collect();
    fields.retain(|name, _| !twins.contains(name));
}

/// Cleans one schema and the schemas in it.
fn clean(schema: &mut Map<String, Value>) {
    for keyword in NOISE {
        schema.remove(keyword);
    }
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
    drop_null(schema);
    for (keyword, value) in schema.iter_mut() {
        match (keyword.as_str(), value) {
            ("properties" | "$defs", Value::Object(named)) => {
                named.values_mut().for_each(clean_value);
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(listed)) => {
                listed.iter_mut().for_each(clean_value);
            }
            ("items" | "additionalProperties", single) => clean_value(single),
            _ => {}
        }
    }
}

/// Cleans a value that is a schema, unless it is `true` or `false`.
fn clean_value(value: &mut Value) {
    if let Value::Object(schema) = value {
        clean(schema);
    }
}

/// Takes `null` out of what a schema admits beside something else.
fn drop_null(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
    let Some(Value::Array(choices)) = schema.get_mut("anyOf") else {
        return;
    };
    choices.retain(|choice| choice.get("type").is_none_or(|name| name != "null"));
    if let [Value::Object(only)] = choices.as_slice() {
        let only = only.clone();
        schema.remove("anyOf");
        for (keyword, value) in only {
            schema.entry(keyword).or_insert(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn noise_goes_and_names_of_fields_stay() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Join", "type": "object",
            "properties": {
                "title": {"description": "A title.", "type": ["string", "null"], "default": null},
                "limit": {"type": "integer", "format": "uint32", "minimum": 0},
                "wait": {"type": ["string", "null"], "format": SPAN_FORMAT},
                "wait_s": {"type": ["integer", "null"], "minimum": 0},
                "mode": {"description": "How.", "anyOf": [{"enum": ["a"]}, {"type": "null"}]},
            },
            "additionalProperties": false,
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "title": {"description": "A title.", "type": "string"},
                "limit": {"type": "integer", "minimum": 0},
                "wait": {"type": "string"},
                "mode": {"description": "How.", "enum": ["a"]},
            },
            "additionalProperties": false,
        });
        assert_eq!(Value::Object(lean(&schema)), expected);
    }

    #[test]
    fn whatever_the_registry_says_the_schema_is_an_object() {
        assert_eq!(Value::Object(lean(&json!({}))), json!({"type": "object"}));
    }
}
