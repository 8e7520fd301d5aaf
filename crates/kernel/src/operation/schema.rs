//! The JSON schemas of requests and answers, derived from their types and from nothing else.

use std::collections::BTreeMap;
use std::sync::{LazyLock, OnceLock};

use comity_domain::time::SPAN_FORMAT;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::registry::OPERATIONS;
use super::surface::Operation;
use crate::error::Error;

/// The schemas of one operation.
#[derive(Clone, Debug)]
pub struct Schemas {
    /// The request: an object.
    pub request: Value,
    /// The answer: an object.
    pub answer: Value,
    /// What the operation does, as its request's documentation says.
    pub about: String,
    /// The request's fields that are lengths of time; each has a twin in seconds.
    spans: Vec<String>,
}

/// The number that an answer carries beside its content.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Number {
    /// Where a write stands in the log.
    Seq,
    /// Where the log stood when a read was taken.
    AsOfSeq,
    /// The answer has one of its own, or none.
    Own,
}

/// Schemas are derived once, each when it is first wanted: requests look into them all the time, and
/// a process that makes one request into one of them.
static SCHEMAS: LazyLock<BTreeMap<&'static str, OnceLock<Schemas>>> = LazyLock::new(|| {
    let empty = |operation: &Operation| (operation.name, OnceLock::new());
    OPERATIONS.iter().map(empty).collect()
});

static NOTHING: LazyLock<Schemas> = LazyLock::new(|| Schemas {
    request: json!({}),
    answer: json!({}),
    about: String::new(),
    spans: Vec::new(),
});

/// Returns the schemas of an operation of the registry.
pub(super) fn of(operation: &Operation) -> &'static Schemas {
    match SCHEMAS.get(operation.name) {
        Some(schemas) => schemas.get_or_init(operation.describe),
        None => &NOTHING,
    }
}

impl Schemas {
    pub(super) fn new<Request: JsonSchema, Answer: JsonSchema>(number: Number) -> Self {
        let mut request = schema_of::<Request>();
        let about = match request
            .as_object_mut()
            .and_then(|it| it.remove("description"))
        {
            Some(Value::String(about)) => about,
            _ => String::new(),
        };
        let spans = add_seconds(&mut request);
        let mut answer = schema_of::<Answer>();
        match number {
            Number::Seq => add_number(&mut answer, "seq"),
            Number::AsOfSeq => add_number(&mut answer, "as_of_seq"),
            Number::Own => {}
        }
        Self {
            request,
            answer,
            about,
            spans,
        }
    }

    /// Returns the fields of the request with their schemas.
    pub fn fields(&self) -> impl Iterator<Item = (&String, &Value)> {
        let properties = self.request.get("properties").and_then(Value::as_object);
        properties.into_iter().flatten()
    }

    /// Returns the schema of a field of the request.
    pub fn field(&self, name: &str) -> Option<&Value> {
        self.request.get("properties")?.get(name)
    }

    /// Turns `ttl_s: 90` into `ttl: "90s"`; both at once would be two wishes.
    pub(super) fn spell_out_seconds(&self, request: &mut Value) -> Result<(), Error> {
        let Some(request) = request.as_object_mut() else {
            return Ok(());
        };
        for span in &self.spans {
            let twin = format!("{span}_s");
            let seconds = match request.remove(&twin) {
                None | Some(Value::Null) => continue,
                Some(seconds) => seconds.as_u64(),
            };
            let Some(seconds) = seconds else {
                return Err(Error::invalid(twin, "must be a whole number of seconds"));
            };
            if request.contains_key(span) {
                let rule = format!("must not be given together with `{span}`");
                return Err(Error::invalid(twin, rule));
            }
            request.insert(span.clone(), format!("{seconds}s").into());
        }
        Ok(())
    }
}

/// Derives the schema of a type as the registry does: everything in place, no references.
pub fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    schema.to_value()
}

/// Adds to each length of time its twin in whole seconds, and returns their names.
fn add_seconds(request: &mut Value) -> Vec<String> {
    let Some(Value::Object(properties)) = request.get_mut("properties") else {
        return Vec::new();
    };
    let is_span = |schema: &Value| schema.get("format").is_some_and(|it| it == SPAN_FORMAT);
    let spans: Vec<String> = properties
        .iter()
        .filter(|(_, schema)| is_span(schema))
        .map(|(name, _)| name.clone())
        .collect();
    for span in &spans {
        let about = format!("`{span}` in whole seconds.");
        let twin = json!({ "type": ["integer", "null"], "minimum": 0, "description": about });
        properties.insert(format!("{span}_s"), twin);
    }
    spans
}

fn add_number(answer: &mut Value, name: &str) {
    let Some(answer) = answer.as_object_mut() else {
        return;
    };
    let properties = answer.entry("properties").or_insert_with(|| json!({}));
    if let Value::Object(properties) = properties {
        let about = "The place in the log: of the effect, or as of which this is true.";
        let number = json!({ "type": "integer", "minimum": 0, "description": about });
        properties.insert(name.to_owned(), number);
    }
    let required = answer.entry("required").or_insert_with(|| json!([]));
    if let Value::Array(required) = required {
        required.push(name.into());
    }
    answer.insert("type".to_owned(), "object".into());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::find;

    #[test]
    fn every_field_of_every_request_is_described() {
        for operation in OPERATIONS {
            let schemas = operation.schemas();
            assert!(!schemas.about.is_empty(), "{}", operation.name);
            assert_eq!(schemas.request["type"], "object", "{}", operation.name);
            assert_eq!(schemas.request["additionalProperties"], false);
            for (name, field) in schemas.fields() {
                let described = field["description"].is_string();
                assert!(described, "{}: {name}: {field}", operation.name);
            }
        }
    }

    #[test]
    fn a_length_of_time_may_be_given_in_seconds_but_not_twice() {
        let schemas = find("list_agents").unwrap().schemas();
        let mut request = json!({ "active_within_s": 90 });
        schemas.spell_out_seconds(&mut request).unwrap();
        assert_eq!(request, json!({ "active_within": "90s" }));
        for refused in [
            json!({ "active_within_s": 90, "active_within": "90s" }),
            json!({ "active_within_s": -1 }),
            json!({ "active_within_s": "90" }),
            json!({ "active_within_s": 1.5 }),
        ] {
            let error = schemas.spell_out_seconds(&mut refused.clone()).unwrap_err();
            assert!(error.to_string().contains("active_within_s"), "{refused}");
        }
    }
}
