//! Follows the log for all feeds together.

use std::sync::Arc;
use std::time::Duration;

use comity_domain::Seq;
use comity_kernel::event::LogAfter;
use comity_kernel::failpoint::Failpoints;
use comity_kernel::{Actor, Error, Kernel};

use super::fed::Newest;
use super::hub::Hub;

/// How long it rests when the log cannot be read.
const REST: Duration = Duration::from_millis(250);

/// Runs until it is dropped. It reads what is committed, and tells it in the log's order.
///
/// While nobody listens it reads nothing: whoever comes reads the log first, up to a place that is
/// not before the one looked at here.
pub(crate) async fn run(kernel: Arc<Kernel>, hub: Arc<Hub>, failpoints: Failpoints) {
    let mut head = kernel.head();
    let mut told = *head.borrow_and_update();
    let mut newest = Newest::default();
    loop {
        let end = *head.borrow_and_update();
        if !hub.has_listeners() {
            told = told.max(end);
        }
        if told >= end {
            if head.changed().await.is_err() {
                return;
            }
            continue;
        }
        // A test may have the whole server stand still here.
        let _ = failpoints.hit("feeds.before_read");
        match kernel.query(Actor::System, LogAfter { since: told }).await {
            Ok(read) => {
                for entry in read.answer {
                    told = entry.seq();
                    if let Some(token) = entry.revokes() {
                        hub.revoke(token);
                    }
                    hub.tell(newest.keep(entry));
                }
            }
            Err(Error::Pruned { oldest_seq }) => {
                // It stood still so long that another server pruned. Whoever listens notices the gap and
                // asks the log, with its own credential: what revoked it may be gone, too.
                told = Seq::new(oldest_seq.get() - 1);
            }
            Err(error) => {
                tracing::warn!(error = %error, "the log is not told for the moment");
                tokio::time::sleep(REST).await;
            }
        }
    }
}
