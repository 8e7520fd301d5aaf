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

use crate::{Server, feed, mcp};

pub(crate) use answer::{Refusal, json as json_response};
pub use gate::Hosts;
pub use openapi::document as openapi_document;
pub(crate) use request::{decoded, only as only_header};
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
        .route("/api/docs/style.css", get(docs::style))
        .route("/api/events/stream", get(feed::stream))
        .route("/ws/agents/{id}", get(feed::open_socket));
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use axum::body::Body;
    use axum::http::{Request, Response};
    use comity_kernel::{Kernel, Options};
    use http_body_util::BodyExt as _;
    use hyper::service::Service as _;
    use hyper_util::service::TowerToHyperService;
    use serde_json::Value;

    use super::*;
    use crate::Settings;

    async fn ask(routes: &Router, path: &str) -> Response<Body> {
        let request = Request::get(path).header("host", "localhost");
        let request = request.body(Body::empty()).unwrap();
        let service = TowerToHyperService::new(routes.clone());
        service.call(request).await.unwrap()
    }

    // Fault 11
    #[tokio::test]
    async fn a_panic_is_one_500_with_an_id_and_the_next_request_is_served() {
        async fn panics() {
            panic!("a defect with secrets in it");
        }
        let directory = tempfile::tempdir().unwrap();
        let options = Options::sqlite(directory.path().join("comity.db"));
        let kernel = Arc::new(Kernel::open(options).unwrap());
        let server = Server::new(kernel, Settings::default());
        let hosts = Hosts::new(([127, 0, 0, 1], 1).into(), &[]);
        let open = Router::new()
            .route("/panics", get(panics))
            .route("/health", get(health::health));
        let routes = behind_the_gate(open, server, hosts).layer(axum::Extension(Peer::Socket));
        let mut ids = Vec::new();
        for _ in 0..2 {
            let answer = ask(&routes, "/panics").await;
            assert_eq!(answer.status(), 500);
            assert!(answer.headers().contains_key("x-request-id"));
            let bytes = answer.into_body().collect().await.unwrap().to_bytes();
            let shown: Value = serde_json::from_slice(&bytes).unwrap();
            assert_eq!(shown["error"], "internal");
            assert!(!shown.to_string().contains("secrets"), "{shown}");
            ids.push(shown["id"].as_str().unwrap().to_owned());
            assert_eq!(ask(&routes, "/health").await.status(), 200);
        }
        assert!(ids[0].len() == 12 && ids[0] != ids[1], "{ids:?}");
    }
}
