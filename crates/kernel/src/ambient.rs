//! What a transaction may learn from outside the database: clocks and randomness, injected.

use std::sync::Arc;

use comity_domain::{LeaseTime, Timestamp};

use crate::failpoint::Failpoints;
use crate::store::Head;

/// One reading of the clocks; a transaction takes exactly one.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The wall clock as it stands, jumps included.
    pub wall: Timestamp,
    /// The clock below the lease clock: it never jumps, and counts while the machine sleeps.
    pub tick_us: i64,
    /// Which clock ticked: a boot of a machine, or the database server.
    pub tick_of: Arc<str>,
}

/// The two times of a transaction.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// The wall clock, for people.
    pub at: Timestamp,
    /// The lease clock, for expiry.
    pub lease: LeaseTime,
}

/// A source of readings.
pub trait Clock: Send + Sync {
    /// Reads the clocks; `server_us` is the database server's clock where several machines share
    /// it, which then counts instead of this machine's.
    fn read(&self, server_us: Option<i64>) -> Reading;
}

/// A source of random bytes.
pub trait Entropy: Send + Sync {
    /// Fills the buffer.
    fn fill(&self, bytes: &mut [u8]);
}

/// Everything the kernel takes from its surroundings.
#[derive(Clone)]
pub struct Ambient {
    /// The clocks.
    pub clock: Arc<dyn Clock>,
    /// Randomness, for tokens, names and epochs.
    pub entropy: Arc<dyn Entropy>,
    /// Named places where tests may pause, delay, fail or kill.
    pub failpoints: Failpoints,
}

impl Ambient {
    /// Takes the real clocks and the operating system's randomness.
    pub fn system() -> Self {
        Self {
            clock: Arc::new(SystemClock::new()),
            entropy: Arc::new(SystemEntropy),
            failpoints: Failpoints::from_environment(),
        }
    }

    /// Returns fresh random bytes.
    pub fn random<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.entropy.fill(&mut bytes);
        bytes
    }
}

impl Reading {
    /// Computes the lease clock from its last committed mark (3.2).
    ///
    /// Under another boot it goes on from the mark: leases live longer, which is safe. A clock that
    /// went back adds nothing.
    pub fn lease(&self, head: &Head) -> LeaseTime {
        let passed = if *head.anchor_of == *self.tick_of {
            self.tick_us.saturating_sub(head.anchor_us).max(0)
        } else {
            0
        };
        LeaseTime::from_micros(head.lease_us.saturating_add(passed))
    }
}

/// The machine's clocks: the wall, and `CLOCK_BOOTTIME` below the lease clock.
pub struct SystemClock {
    boot: Arc<str>,
    server: Arc<str>,
}

impl SystemClock {
    fn new() -> Self {
        // Without a boot id every start counts as another boot: the lease clock then only waits.
        let boot =
            std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_else(|_| {
                let mut bytes = [0; 16];
                SystemEntropy.fill(&mut bytes);
                comity_domain::token::to_hex(&bytes)
            });
        Self {
            boot: boot.trim().into(),
            server: "server".into(),
        }
    }
}

impl Clock for SystemClock {
    fn read(&self, server_us: Option<i64>) -> Reading {
        if let Some(server_us) = server_us {
            return Reading {
                wall: Timestamp::from_micros(server_us),
                tick_us: server_us,
                tick_of: Arc::clone(&self.server),
            };
        }
        let boot = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        Reading {
            wall: wall_now(),
            tick_us: boot.tv_sec * 1_000_000 + boot.tv_nsec / 1_000,
            tick_of: Arc::clone(&self.boot),
        }
    }
}

fn wall_now() -> Timestamp {
    let wall = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    Timestamp::from_micros(wall.tv_sec * 1_000_000 + wall.tv_nsec / 1_000)
}

/// The operating system's randomness.
struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            match rustix::rand::getrandom(&mut *rest, rustix::rand::GetRandomFlags::empty()) {
                Ok(filled) => rest = rest.get_mut(filled..).unwrap_or_default(),
                Err(rustix::io::Errno::INTR) => {}
                // Without randomness every token would be guessable: nothing may go on.
                Err(_) => std::process::abort(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use comity_domain::Seq;

    use super::*;

    fn head(lease_us: i64, anchor_us: i64, anchor_of: &str) -> Head {
        Head {
            seq: Seq::ZERO,
            hash: [0; 32],
            epoch: String::new(),
            schema: 1,
            lease_us,
            anchor_us,
            anchor_of: anchor_of.to_owned(),
            server_us: None,
        }
    }

    fn reading(tick_us: i64) -> Reading {
        Reading {
            wall: Timestamp::from_micros(0),
            tick_us,
            tick_of: "boot".into(),
        }
    }

    // 3.2
    #[test]
    fn the_lease_clock_advances_with_its_boot_and_never_goes_back() {
        let mark = head(1_000, 50, "boot");
        assert_eq!(reading(80).lease(&mark).micros(), 1_030);
        assert_eq!(reading(50).lease(&mark).micros(), 1_000);
        assert_eq!(reading(10).lease(&mark).micros(), 1_000);
    }

    // 3.2
    #[test]
    fn another_boot_goes_on_from_the_mark() {
        assert_eq!(reading(9).lease(&head(1_000, 50, "other")).micros(), 1_000);
    }

    #[test]
    fn the_system_clock_takes_the_servers_time_where_there_is_one() {
        let reading = SystemClock::new().read(Some(77));
        assert_eq!((reading.wall.micros(), reading.tick_us), (77, 77)); // L7
    }
}
