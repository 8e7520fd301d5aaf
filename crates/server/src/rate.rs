//! How often somebody may call: an allowance that refills steadily, per key.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Keys that are remembered; beyond it those with a full allowance are forgotten.
const KEYS_MAX: usize = 10_000;

/// The allowances of everybody.
pub(crate) struct Rates<K> {
    /// What one call takes of the allowance.
    cost: Duration,
    /// The whole allowance.
    burst: Duration,
    /// When each key's allowance is full again.
    full_at: Mutex<HashMap<K, Instant>>,
}

impl<K: Eq + Hash> Rates<K> {
    pub(crate) fn new(per_second: u32, burst: u32) -> Self {
        let cost = Duration::from_secs(1) / per_second.max(1);
        Self {
            cost,
            burst: cost * burst.max(1),
            full_at: Mutex::default(),
        }
    }

    /// Takes one call off the allowance of `key`, or says how long to wait for it.
    pub(crate) fn take(&self, key: K, now: Instant) -> Result<(), Duration> {
        let mut full_at = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        if full_at.len() >= KEYS_MAX && !full_at.contains_key(&key) {
            full_at.retain(|_, full_at| *full_at > now);
        }
        let entry = full_at.entry(key).or_insert(now);
        let after = (*entry).max(now) + self.cost;
        let missing = after.saturating_duration_since(now);
        if missing > self.burst {
            return Err(missing.saturating_sub(self.burst));
        }
        *entry = after;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // S24
    #[test]
    fn a_burst_passes_then_the_steady_rate_and_others_are_not_held_up() {
        let rates = Rates::new(10, 3);
        let start = Instant::now();
        for _ in 0..3 {
            assert_eq!(rates.take("a", start), Ok(()));
        }
        let wait = rates.take("a", start).unwrap_err();
        assert_eq!(wait, Duration::from_millis(100));
        assert_eq!(rates.take("b", start), Ok(()));
        assert!(rates.take("a", start + wait / 2).is_err());
        assert_eq!(rates.take("a", start + wait), Ok(()));
        assert!(rates.take("a", start + wait).is_err());
    }

    // S24: those who called long ago do not fill the memory
    #[test]
    fn memory_is_bounded() {
        let rates = Rates::new(1_000, 1);
        let start = Instant::now();
        for key in 0..3 * KEYS_MAX {
            let now = start + Duration::from_millis(2) * u32::try_from(key).unwrap();
            rates.take(key, now).unwrap();
        }
        assert!(rates.full_at.lock().unwrap().len() <= KEYS_MAX);
    }
}
