//! The protocol over a pair of streams, one message a line.

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncWrite};

use super::handler::Handler;
use super::opening::Opening;

/// The longest line, in bytes; a longer one is dropped and logged, and gets no answer.
const LINE_BYTES_MAX: usize = 1024 * 1024;

/// Why serving ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The client closed its side.
    Closed,
    /// `stop` came.
    Stopped,
}

/// Serves one client until it closes `input` or `stop` is there; calls then open may still answer
/// for a few seconds.
///
/// For the process's own streams use [`stdio_pipes`](super::stdio_pipes). Nothing else may write to
/// `output`.
pub async fn serve<R, W>(
    handler: Handler,
    input: R,
    output: W,
    stop: impl Future<Output = ()> + Send,
) -> std::io::Result<Ended>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let lines = AsyncRwTransport::new_server(input, output).with_max_line_length(LINE_BYTES_MAX);
    let mut stop = std::pin::pin!(stop);
    let started = tokio::select! {
        started = handler.serve(Opening::of(lines)) => started,
        () = &mut stop => return Ok(Ended::Stopped),
    };
    let running = match started {
        Ok(running) => running,
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(Ended::Closed),
        Err(error) => return Err(std::io::Error::other(error)),
    };
    let ending = running.cancellation_token();
    let mut waiting = std::pin::pin!(running.waiting());
    tokio::select! {
        ended = &mut waiting => {
            ended?;
            Ok(Ended::Closed)
        }
        () = &mut stop => {
            ending.cancel();
            waiting.await?;
            Ok(Ended::Stopped)
        }
    }
}
