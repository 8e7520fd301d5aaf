//! What stands around a running kernel: HTTP, and the background work of a server.
//!
//! There is no SQL here. `http` is the route table on one page, `health` the live probe, `upkeep`
//! what a server does every few seconds.

pub mod health;
pub mod http;
pub mod upkeep;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use comity_kernel::Kernel;
use tokio::net::TcpListener;

/// How long open requests may take to end after a stop (B8).
const DRAIN: Duration = Duration::from_secs(2);

/// What every handler can reach.
#[derive(Clone)]
pub struct Server {
    /// The kernel.
    pub kernel: Arc<Kernel>,
    /// The turn of whoever probes: a crowd of askers must not become a crowd of writes.
    pub probing: Arc<tokio::sync::Mutex<()>>,
}

impl Server {
    /// Serves until `stop` is there or the kernel gives up, and ends what is open.
    pub async fn serve(
        self,
        listener: TcpListener,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> std::io::Result<()> {
        let mut gave_up = self.kernel.gave_up();
        let upkeep = tokio::spawn(upkeep::run(Arc::clone(&self.kernel)));
        let (stopping, mut stopped) = tokio::sync::watch::channel(false);
        let ends = async move {
            tokio::select! {
                () = stop => {}
                _ = gave_up.wait_for(Option::is_some) => {}
            }
            stopping.send_replace(true);
        };
        let serving = axum::serve(listener, http::routes(self)).with_graceful_shutdown(ends);
        let drained = async move {
            let _ = stopped.wait_for(|stopping| *stopping).await;
            tokio::time::sleep(DRAIN).await;
        };
        tokio::select! {
            ended = serving => ended?,
            () = drained => tracing::warn!("some requests did not end in time"),
        }
        upkeep.abort();
        Ok(())
    }
}
