//! Redactions: what somebody wrote is taken out of an event, and out of the rows it went to.
//!
//! What is left of the payload, its remnant, still says what happened to what, so that the log folds
//! to the same tables. The chained line holds the hash of the whole payload and stays as it is (I8).

pub(crate) mod answers;
mod apply;
mod blank;
pub(crate) mod bytes;
pub mod event;
pub mod redact;
mod spot;
mod table;
mod taken;
pub(crate) mod words;

pub use blank::MARK;
pub(crate) use blank::{blank, blank_map, blank_option, blank_value};
pub use redact::RedactEvent;
pub use spot::{Blanked, Key, Redacted, Spot};
pub(crate) use table::remnants_within;
pub use table::{Redaction, RedactionsSince};
pub(crate) use taken::Taken;
