//! The Model Context Protocol: the registry's operations as tools for agents.
//!
//! The one place that knows `rmcp`. [`Handler`] answers the protocol's methods, `tools` says what
//! there is, [`Desk`] is how a tool reaches a kernel, `http` and `stdio` are the two transports.
//! Both protocol eras are served on each: 2026-07-28 without a handshake, and the ones before it
//! with `initialize`. Over HTTP no session is kept: every request stands alone, with its own
//! credential (S22).

mod counter;
mod desk;
mod handler;
mod http;
mod join;
mod opening;
mod profile;
mod result;
mod schema;
mod stdio;
mod strict;
mod tool;
mod tools;

pub use desk::{Answer, Desk, McpCaller};
pub use handler::Handler;
pub(crate) use http::routes;
pub use join::Join;
pub use profile::Profiles;
pub use rmcp::transport::stdio_pipes;
pub use stdio::{Ended, serve};
