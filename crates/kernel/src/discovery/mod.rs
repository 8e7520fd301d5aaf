//! Discoveries: what somebody found, what it is worth, and what became of it.

mod apply;
pub mod event;
pub mod index;
pub(crate) mod table;

pub use table::Discovery;
