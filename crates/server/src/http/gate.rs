//! What every request passes first: the right Host and Origin, no token in its URL, a request id,
//! and a net for panics.

use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, ORIGIN, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use comity_kernel::Error;
use futures_util::FutureExt as _;
use tracing::Instrument as _;

use super::Peer;
use super::answer::Refusal;
use super::request::must_hold_no_token;
use super::trace;
use crate::Server;

/// The names by which a server may be called.
#[derive(Clone, Debug)]
pub struct Hosts(Arc<[String]>);

/// What the gate knows.
#[derive(Clone)]
pub(super) struct Gate {
    server: Server,
    hosts: Hosts,
}

impl Gate {
    pub(super) const fn new(server: Server, hosts: Hosts) -> Self {
        Self { server, hosts }
    }
}

impl Hosts {
    /// Takes the address listened on and the names an operator allows beside it.
    pub fn new(addr: SocketAddr, allowed: &[String]) -> Self {
        let port = addr.port();
        let mut names = vec![
            addr.to_string(),
            format!("localhost:{port}"),
            format!("127.0.0.1:{port}"),
            format!("[::1]:{port}"),
        ];
        for name in allowed {
            let name = name.to_ascii_lowercase();
            names.push(format!("{name}:{port}"));
            names.push(name);
        }
        Self(names.into())
    }

    /// Compares exactly; only letter case is free (S16).
    fn know(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        self.0.contains(&host)
    }

    /// Refuses a request that was meant for another server, or a page of another one.
    fn check(&self, peer: Peer, request: &Request) -> Result<(), Error> {
        let host = only(request.headers(), &HOST).unwrap_or_default();
        let called = |host: &str| match peer {
            Peer::Address(_) => self.know(host),
            Peer::Socket => host == "localhost",
        };
        let wrong = |host: &str| Error::WrongHost {
            host: host.chars().take(100).collect(),
        };
        if !called(host) {
            return Err(wrong(host));
        }
        if let Some(authority) = request.uri().authority()
            && !called(authority.as_str())
        {
            return Err(wrong(authority.as_str()));
        }
        if request.headers().contains_key(ORIGIN) {
            let origin = only(request.headers(), &ORIGIN).unwrap_or_default();
            let page = ["http://", "https://"]
                .iter()
                .find_map(|scheme| origin.strip_prefix(scheme));
            if peer == Peer::Socket || !page.is_some_and(|host| self.know(host)) {
                return Err(Error::Forbidden {
                    reason: "pages of other origins may not call this server".to_owned(),
                });
            }
        }
        Ok(())
    }
}

/// Returns the value of a header that is there exactly once.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}

/// Lets a request through, and dresses its answer.
pub(super) async fn pass(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    let id = trace::request_id(request.headers(), &gate.server.ambient);
    let span = tracing::info_span!("request", request.id = %id, method = %request.method());
    let peer = request.extensions().get::<Peer>().copied();
    // A connection that came through no door of ours cannot be.
    let checked = peer.map_or(Err(Error::Unauthorized), |peer| {
        gate.hosts.check(peer, &request)?;
        must_hold_no_token(request.uri().query().unwrap_or_default())
    });
    let mut response = if let Err(error) = checked {
        Refusal(error).into_response()
    } else {
        let answered = AssertUnwindSafe(next.run(request))
            .catch_unwind()
            .instrument(span)
            .await;
        answered.unwrap_or_else(|_| {
            let error = Error::internal(Panicked).numbered(&gate.server.ambient);
            Refusal(error).into_response()
        })
    };
    dress(response.headers_mut(), &id);
    response
}

/// A handler that panicked; what it said is in the log already.
#[derive(Debug, thiserror::Error)]
#[error("a handler panicked")]
struct Panicked;

fn dress(headers: &mut HeaderMap, id: &str) {
    let fixed = |text: &'static str| HeaderValue::from_static(text);
    headers
        .entry(CONTENT_SECURITY_POLICY)
        .or_insert(fixed("default-src 'none'; frame-ancestors 'none'"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, fixed("nosniff"));
    headers.insert(CACHE_CONTROL, fixed("no-store"));
    headers.insert(REFERRER_POLICY, fixed("no-referrer"));
    if let Ok(id) = HeaderValue::from_str(id) {
        headers.insert(trace::REQUEST_ID, id);
    }
}
