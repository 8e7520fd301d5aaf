//! `GET /health` and `GET /metrics`: one word for strangers, details for those with a credential.

use axum::Extension;
use axum::extract::State;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use comity_kernel::archive::ArchiveState;
use comity_kernel::{Actor, Error};
use serde_json::json;

use super::answer::{Refusal, json};
use super::{Peer, credential};
use crate::Server;
use crate::health::{Status, archive_status, probe};
use crate::metrics::Gauges;

/// Probes, and tells what was found.
pub(super) async fn health(
    State(server): State<Server>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
) -> Response {
    let known = match look(&server, peer, &headers).await {
        Ok(known) => known,
        Err(error) => return Refusal(error).into_response(),
    };
    let found = probe(&server).await;
    let code = match found.status {
        Status::Ok | Status::Degraded => StatusCode::OK,
        Status::Failing => StatusCode::SERVICE_UNAVAILABLE,
    };
    match known {
        Some(_) => json(
            code,
            &json!({ "status": found.status, "checks": found.checks }),
        ),
        None => json(code, &json!({ "status": found.status })),
    }
}

/// Tells what was counted.
pub(super) async fn metrics(
    State(server): State<Server>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
) -> Response {
    let known = match look(&server, peer, &headers).await {
        Ok(known) => known,
        Err(error) => return Refusal(error).into_response(),
    };
    let text = match known {
        Some(_) => server.metrics.render(&gauges(&server).await),
        None => "# TYPE comity_up gauge\ncomity_up 1\n".to_owned(),
    };
    let mut response = text.into_response();
    let kind = HeaderValue::from_static("text/plain; version=0.0.4");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// Tells who asks; nobody is an answer, a bad credential is not.
async fn look(server: &Server, peer: Peer, headers: &HeaderMap) -> Result<Option<Actor>, Error> {
    if peer != Peer::Socket && !headers.contains_key(AUTHORIZATION) {
        return Ok(None);
    }
    credential::identify(server, peer, headers).await.map(Some)
}

async fn gauges(server: &Server) -> Gauges {
    let (waiting_writes, waiting_reads) = server.kernel.waiting();
    let resident_pages = std::fs::read_to_string("/proc/self/statm")
        .ok()
        .and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok());
    let archive = match archive_status(server).await {
        Ok(status) if status.state != ArchiveState::Off => Some((status.lag, status.through.get())),
        _ => None,
    };
    Gauges {
        archive,
        hooks: crate::health::hooks_stand(server).await.ok(),
        head: server.kernel.head().borrow().get(),
        waiting_writes,
        waiting_reads,
        streams: server.feeds.open(),
        descriptors: crate::health::open_descriptors(),
        resident_bytes: resident_pages.map(|pages| pages * rustix::param::page_size() as u64),
    }
}
