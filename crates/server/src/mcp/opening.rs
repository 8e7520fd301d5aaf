//! A transport that begins with requests only.

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, GetMeta as _, ProtocolVersion, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;

/// Drops what is no request until one has settled how the connection is used.
///
/// rmcp ends a connection when a notification or a response comes before that. Such a line is
/// somebody's mistake, and no reason to leave an agent without its tools.
pub(super) struct Opening<T> {
    /// The transport underneath.
    inner: T,
    /// Whether it is settled.
    opened: bool,
}

impl<T> Opening<T> {
    /// Watches over the start of `inner`.
    pub(super) fn of(inner: T) -> Self {
        Self {
            inner,
            opened: false,
        }
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Opening<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let message = self.inner.receive().await?;
            if self.opened {
                return Some(message);
            }
            if let ClientJsonRpcMessage::Request(request) = &message {
                self.opened = settles(&request.request);
                return Some(message);
            }
            tracing::debug!("dropped a message before the first request");
        }
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        self.inner.close().await
    }
}

/// Tells whether rmcp leaves its opening with this request; others it answers and stays.
fn settles(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        other => {
            let meta = other.get_meta();
            let version = meta.protocol_version();
            version.is_some_and(|version| ProtocolVersion::KNOWN_VERSIONS.contains(&version))
                && meta
                    .missing_required_keys(&ProtocolVersion::V_2026_07_28)
                    .is_empty()
        }
    }
}
