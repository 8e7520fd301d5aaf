//! What happens to the log as a whole.

use comity_domain::Seq;
use serde::{Deserialize, Serialize};

/// The log's end was lost and a new epoch began. The event's number is the smallest of the epoch:
/// nothing in it, entities included, has a smaller one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EpochBegun {
    /// Its number: the event's own.
    pub id: Seq,
    /// The random name of the new epoch.
    pub epoch: String,
    /// The epoch that the database was of.
    pub before: String,
    /// The last event that the database had.
    pub after: Seq,
    /// The epoch of the archive that goes further.
    pub lost_epoch: String,
    /// The last event of that archive; those behind `after` are in it alone.
    pub lost_through: Seq,
}

impl EpochBegun {
    /// Its kind: the one event whose number need not follow on the one before it.
    pub const KIND: &'static str = "epoch_begun";
}
