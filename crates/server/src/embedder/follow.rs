//! Gives discoveries their vectors where they came without, or with those of another model.
//!
//! It looks for what is missing, has it made, and keeps it: after a restart, another setting or a
//! failure it goes on where something is missing, and repeats nothing. What cannot have a vector is
//! passed over, told of by health, and tried again after an hour or a restart.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use comity_kernel::{Error, Kernel, Making, Step};
use tokio::time::Instant;

/// How long to rest between two steps, so that whoever else writes is not crowded out.
const BETWEEN: Duration = Duration::from_millis(200);

/// How long to rest after a change before looking for what is missing.
const GATHER: Duration = Duration::from_secs(1);

/// How long to leave an embedder alone that failed.
const AGAIN: Duration = Duration::from_secs(30);

/// How long to leave alone what was passed over.
const AFRESH: Duration = Duration::from_hours(1);

/// Why vectors are not made, of any text at the moment or of some, if that is so.
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
    read_ahead(&kernel).await;
    let mut head = kernel.head();
    let (mut making, mut began) = (Making::default(), Instant::now());
    let mut rest = BETWEEN;
    loop {
        head.borrow_and_update();
        let step = kernel.embed_some(&mut making).await;
        trouble.set(match &step {
            Ok(_) => making.trouble(),
            Err(error) => Some(error.to_string()),
        });
        match step {
            Ok(Step::Fewer) => {}
            Ok(Step::Made) => {
                rest = BETWEEN;
                tokio::time::sleep(BETWEEN).await;
            }
            Ok(Step::Passed) => {
                // An embedder that fails with one text after the other is asked ever less often.
                tokio::time::sleep(rest).await;
                rest = AGAIN.min(rest * 2);
            }
            Ok(Step::Nothing) => {
                let is_passed = making.trouble().is_some();
                tokio::select! {
                    changed = head.changed() => match changed {
                        Ok(()) => {
                            tokio::time::sleep(GATHER).await;
                            read_ahead(&kernel).await;
                        }
                        Err(_) => return,
                    },
                    () = tokio::time::sleep_until(began + AFRESH), if is_passed => {}
                }
                if is_passed && began.elapsed() >= AFRESH {
                    (making, began) = (Making::default(), Instant::now());
                }
            }
            Err(error) => {
                tell(&error);
                tokio::time::sleep(AGAIN).await;
            }
        }
    }
}

/// Reads vectors into memory, so that whoever compares need not.
async fn read_ahead(kernel: &Kernel) {
    if let Err(error) = kernel.warm_vectors().await {
        tracing::warn!(error = %error, "vectors were not read ahead; the first search reads them");
    }
}

fn tell(error: &Error) {
    tracing::warn!(error = %error, "discoveries got no vectors; it is tried again");
}
