//! The protocol over HTTP: the route `/mcp`.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use comity_domain::limits::REQUEST_BYTES_MAX;
use comity_kernel::Error;
use percent_encoding::percent_decode_str;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use super::counter::Counter;
use super::handler::Handler;
use super::profile::Profiles;
use super::strict;
use crate::Server;
use crate::http::{Peer, Refusal, credential};

/// Makes the route; it answers `POST`, and other methods with 405.
///
/// No session is kept and every answer is one JSON body: no id of one client can meet another's,
/// no session id stands for a credential, and no stream is open when the server stops. `Host` and
/// `Origin` are checked at the gate that all routes share.
pub(crate) fn routes(server: &Server) -> Router<Server> {
    let handler = Handler::new(Arc::new(Counter(server.clone())), Profiles::default());
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(REQUEST_BYTES_MAX)
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let sessions = Arc::new(NeverSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(handler.clone()), sessions, config);
    Router::new()
        .route_service("/mcp", service)
        .layer(from_fn_with_state(server.clone(), admit))
}

/// Finds out who calls and what tools it wants; strangers get no further.
async fn admit(State(server): State<Server>, mut request: Request, next: Next) -> Response {
    match identified(&server, &mut request).await {
        Ok(()) => strict::check(request, next, server.patience.body).await,
        Err(error) => Refusal(error).into_response(),
    }
}

async fn identified(server: &Server, request: &mut Request) -> Result<(), Error> {
    let query = request.uri().query().unwrap_or_default().to_owned();
    let peer = request.extensions().get::<Peer>().copied();
    let peer = peer.ok_or(Error::Unauthorized)?;
    let headers = request.headers().clone();
    let actor = credential::admit_anybody(server, peer, &headers).await?;
    let asked = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("profile="));
    if let Some(words) = asked {
        let words = percent_decode_str(words).decode_utf8_lossy();
        let profiles = Profiles::parse(&words).map_err(|rule| Error::invalid("profile", rule))?;
        request.extensions_mut().insert(profiles);
    }
    request.extensions_mut().insert(actor);
    Ok(())
}
