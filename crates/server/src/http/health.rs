//! `GET /health`.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::Server;
use crate::health::{Status, probe};

/// Probes, and tells a stranger one word.
pub(super) async fn health(State(server): State<Server>) -> (StatusCode, Json<Value>) {
    let status = probe(&server).await.status;
    let code = match status {
        Status::Ok | Status::Degraded => StatusCode::OK,
        Status::Failing => StatusCode::SERVICE_UNAVAILABLE,
    };
    (code, Json(json!({ "status": status })))
}
