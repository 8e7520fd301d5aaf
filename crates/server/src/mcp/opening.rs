//! A transport whose first message is a request.

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;

/// Drops what comes before the first request.
///
/// rmcp ends a connection that opens with a notification or a response. Such a line is somebody's
/// mistake, and no reason to leave an agent without its tools.
pub(super) struct Opening<T> {
    /// The transport underneath.
    inner: T,
    /// Whether a request has come.
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
            self.opened |= matches!(message, ClientJsonRpcMessage::Request(_));
            if self.opened {
                return Some(message);
            }
            tracing::debug!("dropped a message before the first request");
        }
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        self.inner.close().await
    }
}
