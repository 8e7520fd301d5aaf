//! Reads a body that is JSON, not too large and not too slow (S1).

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use comity_domain::json;
use comity_domain::limits::ATTACHMENT_BYTES_MAX;
use comity_kernel::Error;
use comity_kernel::mail::attachment::Base64;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde_json::{Map, Value};

/// Reads the request's object; no body is an empty one.
pub(super) async fn read(
    headers: &HeaderMap,
    body: Body,
    patience: Duration,
    bytes_max: usize,
) -> Result<Map<String, Value>, Error> {
    let bytes = bytes(headers, body, patience, bytes_max).await?;
    if bytes.is_empty() {
        return Ok(Map::new());
    }
    must_be_plain_json(headers)?;
    match json::parse(&bytes)? {
        Value::Object(object) => Ok(object),
        _ => Err(Error::invalid("request", "must be a JSON object")),
    }
}

/// Reads bytes as they are into the one field of a request.
pub(super) async fn as_field(
    field: &str,
    headers: &HeaderMap,
    body: Body,
    patience: Duration,
) -> Result<Map<String, Value>, Error> {
    let bytes = bytes(headers, body, patience, ATTACHMENT_BYTES_MAX).await?;
    let content = serde_json::to_value(Base64::new(bytes.into()))?;
    Ok([(field.to_owned(), content)].into_iter().collect())
}

/// Reads a whole body within the bounds of size and time.
pub(crate) async fn bytes(
    headers: &HeaderMap,
    body: Body,
    patience: Duration,
    bytes_max: usize,
) -> Result<Bytes, Error> {
    let too_large = || Error::TooLarge {
        bytes_max: bytes_max as u64,
    };
    if announced(headers).is_some_and(|bytes| bytes > bytes_max as u64) {
        return Err(too_large());
    }
    let whole = Limited::new(body, bytes_max).collect();
    match tokio::time::timeout(patience, whole).await {
        Ok(Ok(whole)) => Ok(whole.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(error)) => Err(not_json(error.to_string())),
        Err(_) => Err(Error::TooSlow {
            seconds: patience.as_secs(),
        }),
    }
}

/// Returns how many bytes the caller says will come.
fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Refuses other types and everything compressed: a small body must not become a large one.
fn must_be_plain_json(headers: &HeaderMap) -> Result<(), Error> {
    let text = |name| {
        let mut values = headers.get_all(name).iter();
        match (values.next(), values.next()) {
            (None, _) => "",
            (Some(value), None) => value.to_str().unwrap_or("unreadable"),
            (Some(_), Some(_)) => "given twice",
        }
    };
    let media_type = text(CONTENT_TYPE).split(';').next().unwrap_or_default();
    if !media_type.trim().eq_ignore_ascii_case("application/json") {
        return Err(not_json("its `Content-Type` is not `application/json`"));
    }
    match text(CONTENT_ENCODING) {
        "" | "identity" => Ok(()),
        _ => Err(not_json("it is compressed; send it as it is")),
    }
}

fn not_json(reason: impl Into<String>) -> Error {
    Error::NotJson {
        reason: reason.into(),
    }
}
