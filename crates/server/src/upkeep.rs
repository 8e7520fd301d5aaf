//! What a server does every few seconds: flush presence, forget old answers.

use std::sync::Arc;
use std::time::Duration;

use comity_kernel::Kernel;

/// How often it looks; the kernel itself keeps to what is due.
const EVERY: Duration = Duration::from_secs(10);

/// Runs until it is dropped. It takes no input and repeats nothing that is done.
pub async fn run(kernel: Arc<Kernel>) {
    let mut every = tokio::time::interval(EVERY);
    loop {
        every.tick().await;
        if let Err(error) = kernel.tidy().await {
            tracing::warn!(error = %error, "upkeep was not done; it is tried again");
        }
    }
}
