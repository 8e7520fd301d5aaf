//! What the kernel said becomes a response.

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{
    CONTENT_DISPOSITION, CONTENT_TYPE, ETAG, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use axum::http::{Response as HttpResponse, StatusCode};
use axum::response::{IntoResponse, Response};
use comity_kernel::Error;
use comity_kernel::mail::attachment::Base64;
use comity_kernel::operation::{Bytes, Operation, Outcome};
use serde_json::Value;

/// An error on its way out: its code's status, and the object every surface shows.
#[derive(Debug)]
pub(crate) struct Refusal(pub(crate) Error);

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let Self(error) = self;
        let status = StatusCode::from_u16(error.code().status);
        let mut response = json(
            status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            &error.to_json(),
        );
        let headers = response.headers_mut();
        if let Some(wait_ms) = error.retry_after_ms() {
            headers.insert(RETRY_AFTER, HeaderValue::from(wait_ms.div_ceil(1_000)));
        }
        if matches!(error, Error::Unauthorized) {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// Writes an outcome: 201 for what was created just now, 200 for everything else.
pub(super) fn done(operation: &Operation, outcome: Outcome) -> Response {
    let existed = outcome.answer.get("created") == Some(&Value::Bool(false));
    let creates = operation.effect.creates() || outcome.answer.get("created").is_some();
    let status = match (creates, outcome.replayed || existed) {
        (true, false) => StatusCode::CREATED,
        _ => StatusCode::OK,
    };
    let answer = outcome.whole();
    if let Bytes::Answer(field) = operation.bytes {
        return bytes(answer.get(field));
    }
    let mut response = json(status, &answer);
    if let Some(tag) = entity_tag(&answer) {
        response.headers_mut().insert(ETAG, tag);
    }
    response
}

/// Hands out bytes as they are: to be kept, never to be shown (S14).
fn bytes(content: Option<&Value>) -> Response {
    let content = content.cloned().unwrap_or_default();
    let content = serde_json::from_value::<Base64>(content);
    let bytes = content.map(|content| content.bytes().to_vec());
    let mut response = HttpResponse::new(Body::from(bytes.unwrap_or_default()));
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static("application/octet-stream");
    headers.insert(CONTENT_TYPE, kind);
    headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    response
}

/// Makes the tag of the answer's entity from its revision.
fn entity_tag(answer: &Value) -> Option<HeaderValue> {
    let mut entities = answer.as_object()?.values();
    let revision = entities.find_map(|entity| entity.get("revision")?.as_i64())?;
    HeaderValue::from_str(&format!("\"{revision}\"")).ok()
}

/// Writes JSON.
pub(crate) fn json(status: StatusCode, value: &Value) -> Response {
    let mut response = HttpResponse::new(Body::from(value.to_string()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Answers a path that leads nowhere.
pub(super) async fn unknown_route(request: Request) -> Refusal {
    let path: String = request.uri().path().chars().take(200).collect();
    Refusal(Error::not_found("route", &path))
}

/// Answers a method that a path does not take.
pub(super) async fn wrong_method(request: Request) -> Refusal {
    Refusal(Error::MethodNotAllowed {
        method: request.method().as_str().chars().take(20).collect(),
    })
}
