//! Path, query and body become one JSON object, typed as the operation's schema says.

use axum::http::HeaderMap;
use comity_domain::TokenSecret;
use comity_kernel::Error;
use comity_kernel::actor::IdempotencyKey;
use comity_kernel::operation::{Operation, Route, Schemas};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Number, Value};

/// Reads the query string into the request; a body has no query beside it.
pub(super) fn from_query(operation: &Operation, query: &str) -> Result<Map<String, Value>, Error> {
    let schemas = operation.schemas();
    let mut request = Map::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (name, value) = (decoded(&name.replace('+', " "))?, value.replace('+', " "));
        let value = typed(schemas, &name, decoded(&value)?);
        match (request.get_mut(&name), is(schemas, &name, "array")) {
            (Some(Value::Array(items)), true) => items.push(value),
            (Some(_), _) => return Err(Error::invalid(name, "must be given once")),
            (None, true) => {
                request.insert(name, Value::Array(vec![value]));
            }
            (None, false) => {
                request.insert(name, value);
            }
        }
    }
    Ok(request)
}

/// Refuses a query string beside a body: one of the two would be overlooked. The one flag that
/// existing clients put there changes nothing.
pub(super) fn must_have_no_query(operation: &Operation, query: &str) -> Result<(), Error> {
    const FLAG: &str = "if_not_conflict";
    let name = |pair: &str| pair.split('=').next().unwrap_or_default().to_owned();
    let is_flag = |name: &str| name == FLAG && operation.schemas().field(FLAG).is_some();
    let mut names = query.split('&').filter(|pair| !pair.is_empty()).map(name);
    match names.find(|name| !is_flag(name)) {
        None => Ok(()),
        Some(name) => {
            let rule = "must be in the body, not in the query string";
            Err(Error::invalid(decoded(&name)?, rule))
        }
    }
}

/// Refuses a token in a URL, wherever in the query it stands: URLs end up in logs and histories
/// (S18).
pub(super) fn must_hold_no_token(query: &str) -> Result<(), Error> {
    let query = percent_decode_str(query).decode_utf8_lossy();
    let beside = |letter: char| !letter.is_ascii_alphanumeric() && letter != '_';
    if !query
        .split(beside)
        .any(|part| TokenSecret::parse(part).is_some())
    {
        return Ok(());
    }
    let rule = "must not hold a token: present it as `Authorization: Bearer`, and have this one replaced, for URLs end up in logs";
    Err(Error::invalid("query string", rule))
}

/// Puts the variable parts of the path into the request.
pub(super) fn add_path(
    operation: &Operation,
    route: &Route,
    path: &str,
    request: &mut Map<String, Value>,
) -> Result<(), Error> {
    let variable = |part: &&str| part.starts_with('{');
    let parts = route.path.split('/').zip(path.split('/'));
    let values = parts.filter(|(part, _)| variable(part));
    for ((_, value), &field) in values.zip(route.fields) {
        let mut value = typed(operation.schemas(), field, decoded(value)?);
        if is(operation.schemas(), field, "array") {
            value = Value::Array(vec![value]);
        }
        match request.insert(field.to_owned(), value.clone()) {
            Some(given) if given != value => {
                return Err(Error::invalid(field, "must be what the path says"));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Takes `If-Match` for `expected_revision`; both and different is a contradiction.
pub(super) fn add_expected_revision(
    operation: &Operation,
    headers: &HeaderMap,
    request: &mut Map<String, Value>,
) -> Result<(), Error> {
    const FIELD: &str = "expected_revision";
    let Some(tag) = only(headers, "If-Match")? else {
        return Ok(());
    };
    let tag = tag.trim_matches('"');
    let Ok(revision) = tag.parse::<i64>() else {
        return Err(Error::invalid("If-Match", "must be one `ETag` as answered"));
    };
    if operation.schemas().field(FIELD).is_none() {
        return Err(Error::invalid(
            "If-Match",
            "has no meaning for this operation",
        ));
    }
    match request.insert(FIELD.to_owned(), revision.into()) {
        Some(given) if given != revision => {
            let rule = "must be the same as in `If-Match`, or left out";
            Err(Error::invalid(FIELD, rule))
        }
        _ => Ok(()),
    }
}

/// Takes the idempotency key.
pub(super) fn key(headers: &HeaderMap) -> Result<Option<IdempotencyKey>, Error> {
    const NAME: &str = "Idempotency-Key";
    let Some(key) = only(headers, NAME)? else {
        return Ok(None);
    };
    let key = IdempotencyKey::parse(key).map_err(|rule| Error::invalid(NAME, rule))?;
    Ok(Some(key))
}

/// Returns the value of a header; of two, one would be overlooked.
pub(crate) fn only<'a>(
    headers: &'a HeaderMap,
    name: &'static str,
) -> Result<Option<&'a str>, Error> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => match value.to_str() {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(Error::invalid(name, "must be ASCII")),
        },
        (Some(_), Some(_)) => Err(Error::invalid(name, "must be given once")),
    }
}

/// Reads what is percent-encoded in a URL.
pub(crate) fn decoded(text: &str) -> Result<String, Error> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded
        .map(std::borrow::Cow::into_owned)
        .map_err(|_| Error::NotJson {
            reason: "the URL is not UTF-8".to_owned(),
        })
}

/// Makes a number or a truth value of text where the schema wants one; else it stays text, and the
/// kernel says what is wrong with it.
fn typed(schemas: &Schemas, name: &str, text: String) -> Value {
    let field = schemas.field(name);
    // Of a list, each item is given by itself.
    let field = field.map(|field| field.get("items").unwrap_or(field));
    let is = |wanted| field.is_some_and(|field| admits(field, wanted));
    if is("integer")
        && let Ok(number) = text.parse::<i64>()
    {
        return number.into();
    }
    if is("number")
        && let Some(number) = text.parse().ok().and_then(Number::from_f64)
    {
        return number.into();
    }
    match text.as_str() {
        "true" if is("boolean") => Value::Bool(true),
        "false" if is("boolean") => Value::Bool(false),
        _ => Value::String(text),
    }
}

/// Tells whether a field may be of this type.
fn is(schemas: &Schemas, name: &str, wanted: &str) -> bool {
    schemas
        .field(name)
        .is_some_and(|field| admits(field, wanted))
}

fn admits(field: &Value, wanted: &str) -> bool {
    match field.get("type") {
        Some(Value::String(only)) => only == wanted,
        Some(Value::Array(several)) => several.iter().any(|one| one == wanted),
        _ => false,
    }
}
