//! Gives discoveries their vectors where they came without, or with those of another model.
//!
//! It looks for what is missing, has it made, and keeps it: after a restart, another setting or a
//! failure it goes on where something is missing, and repeats nothing.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use comity_domain::DiscoveryId;
use comity_kernel::{Error, Kernel};

/// How long to rest between two steps, so that whoever else writes is not crowded out.
const BETWEEN: Duration = Duration::from_millis(200);

/// How long to rest after a change before looking for what is missing.
const GATHER: Duration = Duration::from_secs(1);

/// How long to leave an embedder alone that failed.
const AGAIN: Duration = Duration::from_secs(30);

/// Why vectors are not made at the moment, if they are not.
#[derive(Clone, Default)]
pub(crate) struct Trouble(Arc<Mutex<Option<String>>>);

impl Trouble {
    /// Returns what was said last.
    pub(crate) fn said(&self) -> Option<String> {
        let said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        said.clone()
    }

    fn set(&self, said: Option<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = said;
    }
}

/// Runs until it is dropped.
pub(crate) async fn run(kernel: Arc<Kernel>, trouble: Trouble) {
    if let Err(error) = kernel.warm_vectors().await {
        tracing::warn!(error = %error, "vectors were not read ahead; the first search reads them");
    }
    let mut head = kernel.head();
    let mut through = DiscoveryId::new(0);
    loop {
        head.borrow_and_update();
        match kernel.embed_some(through).await {
            Ok(Some(last)) => {
                through = last;
                trouble.set(None);
                tokio::time::sleep(BETWEEN).await;
            }
            Ok(None) => {
                trouble.set(None);
                if head.changed().await.is_err() {
                    return;
                }
                tokio::time::sleep(GATHER).await;
            }
            Err(error) => {
                tell(&error);
                trouble.set(Some(error.to_string()));
                tokio::time::sleep(AGAIN).await;
            }
        }
    }
}

fn tell(error: &Error) {
    tracing::warn!(error = %error, "discoveries got no vectors; it is tried again");
}
