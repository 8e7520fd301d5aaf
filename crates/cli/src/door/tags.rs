//! What calls carry beside their requests.

use comity_kernel::actor::{Correlation, IdempotencyKey};

/// What the calls through a door carry beside their requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tags {
    /// Repeated with it, a command takes effect once.
    pub(crate) key: Option<IdempotencyKey>,
    /// The W3C `traceparent` that events carry.
    pub(crate) correlation: Option<Correlation>,
}
