//! Epochs: one life of a log, from its start until its end is lost.
//!
//! A database that was put back to an older copy has lost the end of its log, and what was answered
//! there must not be given out again. It goes on in a new epoch: its first event says so, and every
//! number after it, of events, fences and entities, is above whatever was used before (A14, F14).

pub mod apply;
pub mod begin;
pub mod event;
pub mod standing;

pub use begin::{LostEnd, begin_epoch};
pub use standing::{AskStanding, LinkAt, Standing};

/// The statement that finds the number for the next entity of a table: above those that are there,
/// and above everything that was used before the epoch began.
macro_rules! next_id {
    ($table:literal) => {
        concat!(
            "select max(id) + 1 from (select coalesce(max(id), 0) as id from ",
            $table,
            " union all select coalesce(max(id), 0) as id from epoch) as used"
        )
    };
}
pub(crate) use next_id;
