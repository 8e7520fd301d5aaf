//! A clock that stands until it is moved, and randomness that repeats.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use comity_domain::Timestamp;
use comity_kernel::ambient::{Clock, Entropy, Reading};

/// A clock in the test's hand; the same for both engines.
pub struct ManualClock {
    wall_us: AtomicI64,
    tick_us: AtomicI64,
    boot: Mutex<Arc<str>>,
}

impl Default for ManualClock {
    fn default() -> Self {
        Self {
            wall_us: AtomicI64::new(1_800_000_000_000_000),
            tick_us: AtomicI64::new(1_000_000),
            boot: Mutex::new("boot-1".into()),
        }
    }
}

impl ManualClock {
    /// Lets time pass on both clocks.
    pub fn advance_us(&self, us: i64) {
        self.wall_us.fetch_add(us, Ordering::SeqCst);
        self.tick_us.fetch_add(us, Ordering::SeqCst);
    }

    /// Jumps the wall clock alone, as a person or NTP does.
    pub fn jump_wall_us(&self, us: i64) {
        self.wall_us.fetch_add(us, Ordering::SeqCst);
    }

    /// Boots the machine anew: the ticks start over.
    pub fn reboot(&self, boot: &str) {
        *self.boot.lock().unwrap_or_else(PoisonError::into_inner) = boot.into();
        self.tick_us.store(0, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn read(&self, _server_us: Option<i64>) -> Reading {
        Reading {
            wall: Timestamp::from_micros(self.wall_us.load(Ordering::SeqCst)),
            tick_us: self.tick_us.load(Ordering::SeqCst),
            tick_of: Arc::clone(&self.boot.lock().unwrap_or_else(PoisonError::into_inner)),
        }
    }
}

/// Randomness that gives the same bytes for the same seed.
pub struct SeededEntropy(AtomicU64);

impl SeededEntropy {
    /// Starts a sequence.
    pub fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// Returns the next 64 bits (splitmix64).
    pub fn next_u64(&self) -> u64 {
        let state = self
            .0
            .fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::SeqCst)
            .wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `bound`.
    pub fn below(&self, bound: u64) -> u64 {
        self.next_u64() % bound.max(1)
    }
}

impl Entropy for SeededEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            for (byte, random) in chunk.iter_mut().zip(self.next_u64().to_le_bytes()) {
                *byte = random;
            }
        }
    }
}
