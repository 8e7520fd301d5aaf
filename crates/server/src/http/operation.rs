//! The one handler: every operation of the registry goes through it.

use std::time::Instant;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::response::{IntoResponse as _, Response};
use comity_kernel::operation::{Bytes, Operation, Outcome, Route};
use comity_kernel::{Actor, Caller, Error};
use serde_json::Value;

use super::answer::{self, Refusal};
use super::{Peer, body, credential, request, trace};
use crate::Server;

/// Runs an operation for a request, and counts it.
pub(super) async fn run(
    operation: &'static Operation,
    route: &'static Route,
    State(server): State<Server>,
    request: Request,
) -> Response {
    let started = Instant::now();
    let response = match attempt(operation, route, &server, request).await {
        Ok(outcome) => answer::done(operation, outcome),
        Err(error) => Refusal(error.numbered(&server.ambient)).into_response(),
    };
    let (status, took) = (response.status().as_u16(), started.elapsed());
    server.metrics.answered(operation.name, status, took);
    if status >= 500 {
        tracing::warn!(
            operation = operation.name,
            status,
            ?took,
            "not answered well"
        );
    } else {
        tracing::debug!(operation = operation.name, status, ?took, "answered");
    }
    response
}

async fn attempt(
    operation: &'static Operation,
    route: &'static Route,
    server: &Server,
    request: Request,
) -> Result<Outcome, Error> {
    let (parts, sent) = request.into_parts();
    // Strangers and those without the right are turned away before anything they send is read.
    let peer = parts.extensions.get::<Peer>().ok_or(Error::Unauthorized)?;
    let actor = credential::admit(server, *peer, &parts.headers, operation).await?;
    let answered = carry_out(operation, route, server, actor, &parts, sent).await;
    match answered {
        Err(Error::Unauthorized) => credential::forget(server, &parts.headers),
        // No transaction may have looked at the token yet, and it must be good still.
        Err(
            Error::NotJson { .. }
            | Error::TooLarge { .. }
            | Error::TooSlow { .. }
            | Error::Invalid { .. },
        ) => {
            credential::identify(server, *peer, &parts.headers).await?;
        }
        _ => {}
    }
    answered
}

/// Makes the kernel's request of what was sent, and has it answered.
async fn carry_out(
    operation: &'static Operation,
    route: &'static Route,
    server: &Server,
    actor: Actor,
    parts: &Parts,
    sent: Body,
) -> Result<Outcome, Error> {
    let query = parts.uri.query().unwrap_or_default();
    let caller = Caller {
        actor,
        key: request::key(&parts.headers)?,
        correlation: trace::correlation(&parts.headers),
    };
    let mut object = if route.method.has_body() {
        request::must_have_no_query(operation, query)?;
        if let Bytes::Request(field) = operation.bytes {
            body::as_field(field, &parts.headers, sent, server.patience.body).await?
        } else {
            let bytes_max = operation.body_bytes_max;
            body::read(&parts.headers, sent, server.patience.body, bytes_max).await?
        }
    } else {
        request::from_query(operation, query)?
    };
    request::add_path(operation, route, parts.uri.path(), &mut object)?;
    request::add_expected_revision(operation, &parts.headers, &mut object)?;
    server
        .answer(operation, caller, Value::Object(object))
        .await
}
