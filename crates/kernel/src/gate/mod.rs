//! Gates: whether a run may leave its phase, decided on what the same transaction reads.

pub(crate) mod audit;
pub mod check;
pub(crate) mod evaluate;
mod evidence;
mod examined;
pub mod r#override;

pub use check::{CheckGate, GateVerdict};
pub use examined::Examined;
pub use r#override::OverrideGate;
