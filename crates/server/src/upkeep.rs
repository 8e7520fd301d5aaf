//! What a server does in the background: flush presence, forget old answers, write down which
//! leases and which state have expired, which claims of work were lost and which deadlines have passed.

use std::sync::Arc;
use std::time::Duration;

use comity_kernel::Kernel;

/// How often presence and answers are looked at; the kernel itself keeps to what is due.
const TIDY_EVERY: Duration = Duration::from_secs(10);

/// How often expired leases and state, lost claims and passed deadlines are looked for. They have ended
/// without it.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// Runs until it is dropped. It takes no input and repeats nothing that is done.
pub async fn run(kernel: Arc<Kernel>) {
    let mut tidy = tokio::time::interval(TIDY_EVERY);
    let mut sweep = tokio::time::interval(SWEEP_EVERY);
    loop {
        let done = tokio::select! {
            _ = tidy.tick() => kernel.tidy().await,
            _ = sweep.tick() => kernel.sweep().await,
        };
        if let Err(error) = done {
            tracing::warn!(error = %error, "upkeep was not done; it is tried again");
        }
    }
}
