//! The log: the truth, of which every table is a projection.
//!
//! `event` lists what can happen, `line` is the exact text that is chained, `table` reads and
//! appends, `chain` verifies, `fold` replays into an empty database, `state_hash` compares.

pub mod chain;
pub mod event;
pub mod fold;
pub mod line;
pub mod state_hash;
pub mod table;

pub use event::{Apply, Event, Place, Subject, SubjectKind, Tables};
pub use line::{Envelope, Recorded, link};
