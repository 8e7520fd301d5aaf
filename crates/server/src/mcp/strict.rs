//! Refuses bodies that are no message of the protocol, in the protocol's own words.
//!
//! rmcp answers them with 415 and a plain text, and lets a key that occurs twice pass.

use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use comity_domain::json;
use comity_domain::limits::REQUEST_BYTES_MAX;
use rmcp::model::ErrorCode;
use serde_json::{Value, json};

use crate::http::{Refusal, body, json_response};

/// Lets a message pass if two readers would understand the same by it.
pub(super) async fn check(request: Request, next: Next, patience: Duration) -> Response {
    // Another type of body, or none, is for rmcp to refuse.
    let kind = request.headers().get(CONTENT_TYPE);
    if !kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json")) {
        return next.run(request).await;
    }
    let (parts, sent) = request.into_parts();
    let bytes = match body::bytes(&parts.headers, sent, patience, REQUEST_BYTES_MAX).await {
        Ok(bytes) => bytes,
        Err(error) => return Refusal(error).into_response(),
    };
    let message = match json::parse(&bytes) {
        Ok(message) => message,
        Err(fault) => return refusal(ErrorCode::PARSE_ERROR, &fault.message, None),
    };
    let request = Request::from_parts(parts, Body::from(bytes));
    let response = next.run(request).await;
    if response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
        let rule = "the body is one JSON-RPC 2.0 message with a string or integer `id`";
        return refusal(ErrorCode::INVALID_REQUEST, rule, message.get("id"));
    }
    response
}

/// Makes an error of the protocol.
fn refusal(code: ErrorCode, message: &str, id: Option<&Value>) -> Response {
    let id = id.filter(|id| id.is_string() || id.is_i64());
    let error = json!({ "code": code, "message": message });
    let body = json!({ "jsonrpc": "2.0", "id": id, "error": error });
    json_response(StatusCode::BAD_REQUEST, &body)
}
