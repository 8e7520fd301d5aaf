//! What the tests stand on: injected clocks and randomness, one kernel on either engine, faults,
//! crashes, and a plain model to compare with.

pub mod ambient;
pub mod bulk;
pub mod crash;
mod dice;
pub mod golden;
pub mod hooks;
pub mod kit;
pub mod leases;
pub mod model;
pub mod pruned;
pub mod served;
pub mod surfaces;
pub mod vfs;

pub use ambient::{ManualClock, SeededEntropy};
pub use dice::Dice;
pub use kit::{Engine, Kit};
pub use served::Served;

/// Runs a test on both engines: `both_engines! { fn name(kit: Kit) { … } }`.
#[macro_export]
macro_rules! both_engines {
    ($($(#[$attribute:meta])* fn $name:ident($engine:ident) $body:block)+) => {$(
        mod $name {
            #[allow(unused_imports, reason = "each test uses some of its file's imports")]
            use super::*;

            fn run($engine: $crate::Engine) $body

            #[test]
            $(#[$attribute])*
            fn sqlite() {
                run($crate::Engine::Sqlite);
            }

            #[test]
            $(#[$attribute])*
            fn postgres() {
                run($crate::Engine::Postgres);
            }
        }
    )+};
}
