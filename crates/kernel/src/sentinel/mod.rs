//! Sentinels: something to be done once per interval, by whoever claims it first.

mod apply;
pub mod claim;
pub mod event;
pub mod reset;
mod table;

pub use claim::ClaimSentinel;
pub use reset::ResetSentinel;
pub use table::Sentinel;
