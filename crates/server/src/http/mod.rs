//! The route table, and what every request passes through before it.
//!
//! From the outside in: `gate` (Host and Origin, request id, panics, headers of every answer), the
//! route, `credential` (who calls, how often), `request` (path, query and body become one JSON
//! object), the kernel, `answer` (what it said becomes a response).

mod answer;
pub(crate) mod body;
pub(crate) mod credential;
mod docs;
mod gate;
mod health;
mod openapi;
mod operation;
mod request;
mod trace;

use std::net::IpAddr;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodFilter, get, on};
use comity_kernel::operation::{Method, OPERATIONS};

use crate::{Server, mcp};

pub(crate) use answer::{Refusal, json as json_response};
pub use gate::Hosts;
pub use openapi::document as openapi_document;
pub(crate) use trace::traceparent;

/// Where a connection comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    /// The network.
    Address(IpAddr),
    /// The socket of the data directory, open to its owner alone.
    Socket,
}

/// Every route of the server.
pub(crate) fn routes(server: Server, hosts: Hosts) -> Router {
    let mut router = Router::new()
        .route("/health", get(health::health))
        .route("/metrics", get(health::metrics))
        .route("/api/openapi.json", get(openapi::serve))
        .route("/api/docs", get(docs::page))
        .route("/api/docs/style.css", get(docs::style));
    for operation in OPERATIONS {
        for route in operation.routes {
            let handler = move |server, request| operation::run(operation, route, server, request);
            router = router.route(route.path, on(filter(route.method), handler));
        }
    }
    router = router.merge(mcp::routes(&server));
    behind_the_gate(router, server, hosts)
}

/// Puts the gate before a set of routes.
fn behind_the_gate(router: Router<Server>, server: Server, hosts: Hosts) -> Router {
    let gate = gate::Gate::new(server.clone(), hosts);
    router
        .fallback(answer::unknown_route)
        .method_not_allowed_fallback(answer::wrong_method)
        .with_state(server)
        .layer(from_fn_with_state(gate, gate::pass))
}

const fn filter(method: Method) -> MethodFilter {
    match method {
        Method::Get => MethodFilter::GET,
        Method::Post => MethodFilter::POST,
        Method::Put => MethodFilter::PUT,
        Method::Patch => MethodFilter::PATCH,
        Method::Delete => MethodFilter::DELETE,
    }
}
