//! How tools reach a kernel, and what is known about a call beside its arguments.

use std::future::Future;
use std::pin::Pin;

use axum::http::Extensions;
use axum::http::request::Parts;
use comity_kernel::Error;
use comity_kernel::actor::{Correlation, IdempotencyKey};
use comity_kernel::operation::Operation;
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use serde_json::Value;

use super::join::Join;
use crate::http::traceparent;

/// The `_meta` key under which a client gives its idempotency key.
const KEY: &str = "comity/idempotency_key";

/// The answer to come: the operation's answer, or the error object.
pub type Answer = Pin<Box<dyn Future<Output = Result<Value, Value>> + Send>>;

/// Where tool calls are answered: by the server's own kernel, or on behalf of one agent.
///
/// The future is dropped when the client cancels the call or goes away, so nothing may depend on
/// its being polled to the end.
pub trait Desk: Send + Sync + 'static {
    /// Runs an operation as whoever calls.
    fn call(&self, caller: McpCaller, operation: &'static Operation, request: Value) -> Answer;

    /// Registers or resumes the agent that calls.
    fn join(&self, caller: McpCaller, join: Join) -> Answer;
}

/// What a call says about itself.
#[derive(Clone, Debug, Default)]
pub struct McpCaller {
    /// What was found out about the HTTP request; empty on stdio, where the process speaks for one
    /// agent.
    pub credential: Extensions,
    /// The W3C `traceparent` of the call.
    pub correlation: Option<String>,
    /// Name and version of the client program.
    pub client: Option<(String, String)>,
    /// The idempotency key.
    pub key: Option<String>,
}

impl McpCaller {
    /// Returns the idempotency key as the kernel takes it.
    pub fn idempotency_key(&self) -> Result<Option<IdempotencyKey>, Error> {
        let key = self.key.as_deref().map(IdempotencyKey::parse).transpose();
        key.map_err(|rule| Error::invalid(format!("_meta.{KEY}"), rule))
    }

    /// Returns the trace the call is part of; a text that names none is passed over.
    pub fn trace(&self) -> Option<Correlation> {
        self.correlation.as_deref().and_then(traceparent)
    }

    /// Reads what `context` carries.
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Self {
        let parts = context.extensions.get::<Parts>();
        // Without a session the transport knows no `initialize`, and the client it would name is
        // a placeholder of its own: over HTTP only the request itself can tell.
        let client = match parts {
            Some(_) => context.meta.client_info(),
            None => context.client_info(),
        };
        let extensions = parts.map(|parts| parts.extensions.clone());
        let key = context.meta.get(KEY).and_then(Value::as_str);
        Self {
            credential: extensions.unwrap_or_default(),
            correlation: context.meta.get_traceparent().map(str::to_owned),
            client: client.map(|client| (client.name, client.version)),
            key: key.map(str::to_owned),
        }
    }
}
