//! Consumers: programs that read the log from a place that the kernel keeps for them (I7).
//!
//! That a consumer exists, what it wants and where it starts is on the log. How far it has come is
//! not: an acknowledgement is one row, in the same durable transaction as everything else.

pub mod ack;
mod apply;
pub mod cursor;
pub mod event;
pub mod list;
pub mod poll;
pub mod register;
pub mod reset;
pub(crate) mod sweep;
mod table;

pub use ack::AckConsumer;
pub use list::ListConsumers;
pub use poll::PollConsumer;
pub use register::RegisterConsumer;
pub use reset::ResetConsumer;
pub use table::{Consumer, Furthest, furthest_behind};
