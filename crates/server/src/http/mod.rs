//! The route table.

mod health;

use axum::Router;
use axum::routing::get;

use crate::Server;

/// Every route of the server.
pub fn routes(server: Server) -> Router {
    Router::new()
        .route("/health", get(health::health))
        .with_state(server)
}
