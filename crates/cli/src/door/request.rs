//! Writes an HTTP request from what the registry says of an operation.

use comity_kernel::Error;
use comity_kernel::operation::{Method, Operation, Route};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};

use super::content::Content;

/// A request on its way to a server.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wire {
    pub(super) method: &'static str,
    /// The path with its query.
    pub(super) target: String,
    /// The body, where the method has one.
    pub(super) body: Content,
}

/// Returns the route of an operation that clients use.
pub(super) fn route_of(operation: &Operation) -> Result<&'static Route, Error> {
    operation.routes.first().ok_or_else(|| Error::Unusable {
        what: format!("`{}` has no HTTP route", operation.name),
    })
}

/// Spreads a request over path, query and body.
pub(super) fn write(route: &Route, request: Map<String, Value>) -> Result<Wire, Error> {
    let mut rest = request;
    if !route.method.has_body() {
        // A query has no word for it; in a body it may say that something goes.
        rest.retain(|_, value| !value.is_null());
    }
    let mut target = String::new();
    let mut fields = route.fields.iter();
    for segment in route.path.split('/').skip(1) {
        target.push('/');
        if segment.starts_with('{') {
            let field = fields.next().copied().unwrap_or(segment);
            let value = rest.remove(field).filter(|value| !value.is_null());
            let value = value.ok_or_else(|| Error::invalid(field, "must be given"))?;
            encode(&mut target, &plain(&value));
        } else {
            target.push_str(segment);
        }
    }
    let body = if route.method.has_body() {
        Content::Json(Value::Object(rest).to_string())
    } else {
        write_query(&mut target, &rest);
        Content::Nothing
    };
    Ok(Wire {
        method: Method::as_str(route.method),
        target,
        body,
    })
}

/// Appends the query; a list is its key repeated.
fn write_query(target: &mut String, fields: &Map<String, Value>) {
    let mut mark = '?';
    for (name, value) in fields {
        let values = match value {
            Value::Array(values) => values.as_slice(),
            other => std::slice::from_ref(other),
        };
        for value in values {
            target.push(mark);
            encode(target, name);
            target.push('=');
            encode(target, &plain(value));
            mark = '&';
        }
    }
}

/// Writes text as itself and everything else as JSON.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Appends text with everything but plain characters percent-encoded.
fn encode(target: &mut String, text: &str) {
    const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b'-')
        .remove(b'.')
        .remove(b'_')
        .remove(b'~');
    target.extend(utf8_percent_encode(text, ENCODED));
}

#[cfg(test)]
mod tests {
    use super::*;
    use comity_kernel::operation::{OPERATIONS, find};
    use serde_json::json;

    fn wire(name: &str, request: Value) -> Result<Wire, Error> {
        let Value::Object(request) = request else {
            panic!("{request}");
        };
        write(route_of(find(name)?)?, request)
    }

    #[test]
    fn fields_go_to_path_query_or_body() {
        let request = json!({ "agent": "Blue", "project": "/srv/a b", "reason": null });
        assert_eq!(
            wire("retire_agent", request).unwrap(),
            Wire {
                method: "DELETE",
                target: "/api/agents/Blue?project=%2Fsrv%2Fa%20b".to_owned(),
                body: Content::Nothing,
            }
        );
        let request = json!({ "project": "/srv/日", "name": "x", "grace": null });
        assert_eq!(
            wire("update_project", request).unwrap(),
            Wire {
                method: "PATCH",
                target: "/api/projects/%2Fsrv%2F%E6%97%A5".to_owned(),
                body: Content::Json("{\"grace\":null,\"name\":\"x\"}".to_owned()),
            }
        );
        let mut target = String::new();
        let fields = json!({ "ids": [1, 2], "deep": { "a": 1 } });
        write_query(&mut target, fields.as_object().unwrap());
        assert_eq!(target, "?deep=%7B%22a%22%3A1%7D&ids=1&ids=2");
    }

    #[test]
    fn a_missing_part_of_the_path_is_named() {
        let error = wire("get_agent", json!({})).unwrap_err();
        assert_eq!(error.to_string(), "`agent` must be given");
    }

    #[test]
    fn every_operation_has_a_route_whose_parts_are_its_fields() {
        for operation in OPERATIONS {
            let route = route_of(operation).unwrap();
            let parts = route.path.matches('{').count();
            assert_eq!(parts, route.fields.len(), "{}", operation.name);
        }
    }
}
