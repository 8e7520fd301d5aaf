//! What callers see of the log: each the part that concerns them, in order.
//!
//! `sight` decides who sees an event and how much of it; `entry` is an event with that decision, and
//! how it is shown; `filter` says which events somebody wants; `watch` is what somebody wants to follow; `slice` reads the log for a caller,
//! `after` for the program itself.

pub mod after;
pub mod entry;
pub mod filter;
pub mod list;
pub(crate) mod look;
mod one;
pub mod pruned;
pub mod sight;
pub mod slice;
mod table;
pub mod tell;
pub mod watch;

pub use after::LogAfter;
pub use entry::{Entry, ShownEvent};
pub use filter::{About, Filter, Wanted};
pub use list::{Events, SeenEvent};
pub(crate) use one::one;
pub use sight::{Sight, View, Vision};
pub use slice::{ReadSlice, Slice, Told};
pub use watch::{OpenAgentWatch, OpenWatch, Watch};
