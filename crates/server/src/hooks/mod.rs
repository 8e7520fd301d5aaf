//! Hooks: how the events that wait are told.
//!
//! One server of a workspace does it (`telling`). It takes no input: it reads what waits, tells it,
//! and writes down what became of it, so that whoever comes after a crash goes on from there. An
//! event is told again if the crash came between; what it is not is told never. `call` is one try
//! over HTTP and `signature` what it is signed with, `program` one try with a program.

mod call;
mod program;
mod signature;
mod telling;

use std::time::Duration;

use comity_domain::limits::{
    HOOK_ATTEMPTS_MAX, HOOK_REST_US_MAX, HOOK_REST_US_MIN, HOOK_TRY_US_MAX,
};

pub(crate) use telling::Telling;

use crate::outbound::Reach;

/// How hooks are told.
#[derive(Clone, Copy, Debug)]
pub struct Hooking {
    /// Whether programs are run.
    pub commands: Commands,
    /// How far requests may go.
    pub reach: Reach,
    /// How often and how long.
    pub pace: Pace,
}

/// Whether hooks may run programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commands {
    /// The configuration allows it.
    Allowed,
    /// It does not.
    Refused,
}

/// How often an event is tried and how long it rests. Nobody has a reason to set it but tests, which
/// are less patient.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// How long a try may take.
    pub longest: Duration,
    /// The rest after the first try that failed; it doubles with each.
    pub rest_us_min: i64,
    /// The longest rest.
    pub rest_us_max: i64,
    /// How many tries there are.
    pub attempts_max: i64,
}

impl Default for Hooking {
    fn default() -> Self {
        Self {
            commands: Commands::Refused,
            reach: Reach::Public,
            pace: Pace::default(),
        }
    }
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            longest: Duration::from_micros(HOOK_TRY_US_MAX),
            rest_us_min: HOOK_REST_US_MIN,
            rest_us_max: HOOK_REST_US_MAX,
            attempts_max: HOOK_ATTEMPTS_MAX,
        }
    }
}

impl Pace {
    /// How long to rest after so many tries: doubled each time, and up to a quarter more by chance,
    /// so that those who failed together do not come back together.
    fn rest_us(&self, attempts: i64, dice: u16) -> i64 {
        let doubled = u32::try_from(attempts).unwrap_or(u32::MAX).min(40);
        let rest = self
            .rest_us_min
            .saturating_mul(1_i64 << doubled)
            .min(self.rest_us_max);
        rest.saturating_add((rest / 4).saturating_mul(i64::from(dice)) / i64::from(u16::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rest_doubles_up_to_an_hour() {
        let pace = Pace::default();
        let second = 1_000_000;
        for (attempts, seconds) in [
            (0, 1),
            (1, 2),
            (2, 4),
            (11, 2_048),
            (12, 3_600),
            (99, 3_600),
        ] {
            assert_eq!(pace.rest_us(attempts, 0), seconds * second);
            let most = pace.rest_us(attempts, u16::MAX);
            assert_eq!(most, seconds * second + seconds * second / 4);
        }
    }
}
