//! The callers' own streams: events of kinds `custom.*` in the one log, numbered per stream, with
//! optimistic concurrency (I2).

pub mod append;
mod apply;
pub mod event;
pub mod read;
mod table;

pub use append::{AppendEvent, Expected};
pub use read::ReadStream;
pub use table::{Stream, StreamEvent};
