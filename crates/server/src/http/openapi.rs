//! The `OpenAPI` 3.1 document, written from the registry.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use axum::http::StatusCode;
use axum::response::Response;
use comity_kernel::error::CODES;
use comity_kernel::operation::{Bytes, Effect, OPERATIONS, Operation, Route};
use serde_json::{Map, Value, json};

use super::answer;
use crate::feed;

/// The document does not change while the program runs.
static DOCUMENT: LazyLock<Value> = LazyLock::new(document);

/// Serves the document.
pub(super) async fn serve() -> Response {
    answer::json(StatusCode::OK, &DOCUMENT)
}

/// Writes the document.
pub fn document() -> Value {
    let mut paths = Map::new();
    for operation in OPERATIONS {
        for (number, route) in operation.routes.iter().enumerate() {
            let path = paths.entry(route.path).or_insert_with(|| json!({}));
            if let Value::Object(methods) = path {
                let method = route.method.as_str().to_ascii_lowercase();
                methods.insert(method, describe(operation, route, number));
            }
        }
    }
    paths.insert("/health".to_owned(), health());
    for (path, described) in feed::describe::paths() {
        paths.insert(path.to_owned(), described);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Comity",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The coordination kernel for fleets of coding agents. Every error has the same shape; its `hint` says what to do next.",
        },
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": { "Error": error() },
            "responses": refusals(),
        },
    })
}

fn describe(operation: &Operation, route: &Route, number: usize) -> Value {
    let schemas = operation.schemas();
    let id = match number {
        0 => operation.name.to_owned(),
        number => format!("{}_{}", operation.name, number + 1),
    };
    let mut described = json!({
        "operationId": id,
        "summary": first_sentence(&schemas.about),
        "description": schemas.about,
        "tags": [route.path.split('/').nth(2).unwrap_or_default()],
        "parameters": parameters(operation, route),
        "responses": responses(operation),
    });
    if route.method.has_body()
        && let Value::Object(described) = &mut described
    {
        let body = if matches!(operation.bytes, Bytes::Request(_)) {
            raw()
        } else {
            let schema = without(&schemas.request, route.fields);
            json!({ "content": { "application/json": { "schema": schema } } })
        };
        described.insert("requestBody".to_owned(), body);
    }
    described
}

/// Returns a text up to its first full stop.
pub(super) fn first_sentence(text: &str) -> &str {
    let end = text.find(['.', '\n']).unwrap_or(text.len());
    text.get(..end).unwrap_or(text)
}

fn parameters(operation: &Operation, route: &Route) -> Vec<Value> {
    let schemas = operation.schemas();
    let names = path_parameters(route.path).zip(route.fields);
    let mut parameters: Vec<Value> = names
        .map(|(name, field)| parameter("path", name, schemas.field(field)))
        .collect();
    if !route.method.has_body() {
        let fields = schemas.fields();
        let others = fields.filter(|(name, _)| !route.fields.contains(&name.as_str()));
        parameters.extend(others.map(|(name, schema)| parameter("query", name, Some(schema))));
    }
    if operation.effect != Effect::Reads {
        let about = "Repeated with the same key, the request takes effect once.";
        let schema =
            json!({ "type": "string", "minLength": 1, "maxLength": 128, "description": about });
        parameters.push(parameter("header", "Idempotency-Key", Some(&schema)));
    }
    parameters
}

fn parameter(place: &str, name: &str, schema: Option<&Value>) -> Value {
    let mut schema = without_null(schema.cloned().unwrap_or_else(|| json!({})));
    let about = match &mut schema {
        Value::Object(schema) => schema.remove("description"),
        _ => None,
    };
    json!({
        "in": place,
        "name": name,
        "required": place == "path",
        "description": about.unwrap_or_default(),
        "schema": schema,
    })
}

/// A parameter that is left out is not there; text cannot say null.
fn without_null(mut schema: Value) -> Value {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|kind| kind != "null");
    }
    if let Some(Value::Array(choices)) = schema.get_mut("anyOf") {
        choices.retain(|choice| choice.get("type") != Some(&Value::from("null")));
    }
    if let Some(Value::Array(choices)) = schema.get_mut("enum") {
        choices.retain(|choice| !choice.is_null());
    }
    schema
}

fn path_parameters(path: &'static str) -> impl Iterator<Item = &'static str> {
    let named = |part: &'static str| part.strip_prefix('{')?.strip_suffix('}');
    path.split('/').filter_map(named)
}

/// Takes the fields out of a body's schema that the path gives.
fn without(schema: &Value, fields: &[&str]) -> Value {
    let mut schema = schema.clone();
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.retain(|name, _| !fields.contains(&name.as_str()));
    }
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.retain(|name| !fields.iter().any(|field| name == field));
    }
    schema
}

fn responses(operation: &Operation) -> Map<String, Value> {
    let schema = with_secret(operation, operation.schemas().answer.clone());
    let tells_whether_new = schema.pointer("/properties/created").is_some();
    let answer = |about: &str| json!({ "description": about, "content": { "application/json": { "schema": schema } } });
    let mut responses = Map::new();
    let done = match operation.bytes {
        Bytes::Answer(_) => {
            let mut raw = raw();
            if let Value::Object(raw) = &mut raw {
                raw.insert("description".to_owned(), "The bytes.".into());
            }
            raw
        }
        _ => answer("Done."),
    };
    responses.insert("200".to_owned(), done);
    if operation.effect.creates() || tells_whether_new {
        responses.insert("201".to_owned(), answer("Created."));
    }
    for status in statuses() {
        let refusal = json!({ "$ref": format!("#/components/responses/{status}") });
        responses.insert(status.to_string(), refusal);
    }
    // Said before there is a request that could be answered in our own words.
    let too_long = "The address and the headers are too long; there is no body.";
    responses.insert("431".to_owned(), json!({ "description": too_long }));
    responses
}

/// Describes bytes as they are.
fn raw() -> Value {
    json!({ "content": { "application/octet-stream": { "schema": {} } } })
}

/// Adds the token to the answers that hand one over, as `Outcome::whole` does.
fn with_secret(operation: &Operation, mut answer: Value) -> Value {
    let (place, name) = match operation.name {
        "register_agent" => ("/properties", "token"),
        "create_token" | "rotate_token" => ("/properties/token/properties", "secret"),
        "add_hook" => ("/properties/hook/properties", "secret"),
        _ => return answer,
    };
    if let Some(Value::Object(properties)) = answer.pointer_mut(place) {
        let about = "The token itself, told this once.";
        let secret = json!({ "type": "string", "description": about });
        properties.insert(name.to_owned(), secret);
    }
    answer
}

fn statuses() -> BTreeSet<u16> {
    CODES.iter().map(|code| code.status).collect()
}

fn refusals() -> Value {
    let describe = |status: u16| {
        let words = CODES.iter().filter(|code| code.status == status);
        let words: Vec<String> = words.map(|code| format!("`{}`", code.word)).collect();
        let refusal = json!({
            "description": format!("Refused: {}.", words.join(", ")),
            "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Error" } } },
        });
        (status.to_string(), refusal)
    };
    statuses().into_iter().map(describe).collect()
}

fn error() -> Value {
    let words: Vec<&str> = CODES.iter().map(|code| code.word).collect();
    json!({
        "type": "object",
        "required": ["error", "message", "hint"],
        "properties": {
            "error": { "type": "string", "enum": words, "description": "The code; programs decide by it." },
            "message": { "type": "string", "description": "One sentence for people." },
            "hint": { "type": "string", "description": "What to do next." },
            "retry_after_ms": { "type": "integer", "description": "How long to wait, where waiting helps." },
            "field": { "type": "string", "description": "The field at fault, as a path." },
            "rule": { "type": "string", "description": "The rule it breaks." },
        },
    })
}

fn health() -> Value {
    let status = json!({ "type": "string", "enum": ["ok", "degraded", "failing"] });
    let check = json!({
        "type": "object",
        "required": ["name", "status", "detail"],
        "properties": {
            "name": { "type": "string" },
            "status": status,
            "detail": { "type": "string" },
            "state": { "type": "string", "description": "What the archive is doing." },
            "through": { "type": "integer", "description": "The last event that is archived." },
            "lag": { "type": "integer", "description": "How many events are not archived yet." },
            "age_ms": { "type": ["integer", "null"], "description": "How old the oldest of them is." },
            "degraded_since": { "type": ["string", "null"], "format": "date-time" },
        },
    });
    let schema = json!({
        "type": "object",
        "required": ["status"],
        "properties": { "status": status, "checks": { "type": "array", "items": check } },
    });
    let answer = |about: &str| json!({ "description": about, "content": { "application/json": { "schema": schema } } });
    let refusal = |status: u16| json!({ "$ref": format!("#/components/responses/{status}") });
    json!({ "get": {
        "operationId": "health",
        "summary": "Probes the server",
        "description": "Writes and reads for real. A stranger is told one word, a credential gets the checks.",
        "tags": ["health"],
        "security": [{}, { "token": [] }],
        "responses": {
            "200": answer("It works, or works with something amiss."),
            "503": answer("Requests fail."),
            "401": refusal(401),
            "403": refusal(403),
            "405": refusal(405),
            "421": refusal(421),
            "429": refusal(429),
        },
    } })
}

#[cfg(test)]
mod tests {
    use super::*;

    // F10
    #[test]
    fn every_route_is_described_with_its_parameters() {
        let document = document();
        for operation in OPERATIONS {
            assert!(
                !operation.routes.is_empty(),
                "{} has no route",
                operation.name
            );
            for route in operation.routes {
                let described =
                    &document["paths"][route.path][route.method.as_str().to_ascii_lowercase()];
                assert!(
                    described["summary"]
                        .as_str()
                        .is_some_and(|text| !text.is_empty())
                );
                let named = path_parameters(route.path).count();
                assert_eq!(named, route.fields.len(), "{}", route.path);
                for field in route.fields {
                    let known = operation.schemas().field(field).is_some();
                    assert!(known, "{}: {field}", operation.name);
                }
            }
        }
    }
}
