//! How often the writer waits for the server.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts waits by what was waited for.
#[derive(Debug, Default)]
pub struct RoundTrips {
    /// For rows: `begin` and `each`.
    pub reading: AtomicU64,
    /// For the answers to writes: `settle`, `undo` and `commit`.
    pub writing: AtomicU64,
    /// For a statement to be prepared: once per statement and connection.
    pub preparing: AtomicU64,
}

/// Counts one wait.
pub(super) fn count(waits: &AtomicU64) {
    waits.fetch_add(1, Ordering::Relaxed);
}
