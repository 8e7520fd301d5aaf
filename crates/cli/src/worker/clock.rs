//! The clock that a worker and its keepers share: it counts while the machine sleeps, as leases do.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// A reading of the clock, good on this machine until it is started anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Moment(u64);

impl Moment {
    /// Reads the clock.
    pub(super) fn now() -> Self {
        let time = clock_gettime(ClockId::Boottime);
        let (seconds, nanos) = (u64::try_from(time.tv_sec), u64::try_from(time.tv_nsec));
        Self(seconds.unwrap_or(0) * 1_000_000 + nanos.unwrap_or(0) / 1_000)
    }

    /// Returns a later moment.
    pub(super) fn after(self, length: Duration) -> Self {
        let micros = u64::try_from(length.as_micros()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(micros))
    }

    /// Returns how long it is until then; nothing if it is past.
    pub(super) fn left(self) -> Duration {
        self.since(Self::now())
    }

    /// Returns how long after an earlier moment it is.
    pub(super) fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }

    /// Tells whether it is past.
    pub(super) fn is_past(self) -> bool {
        self <= Self::now()
    }

    /// Reads what [`std::fmt::Display`] wrote.
    pub(super) fn parse(text: &str) -> Result<Self, std::num::ParseIntError> {
        text.parse().map(Self)
    }
}

impl std::fmt::Display for Moment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
