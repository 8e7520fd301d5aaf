//! What happens to the oldest part of the log.

use comity_domain::Seq;
use serde::{Deserialize, Serialize};

/// The log was pruned: the events up to one are in the archive alone, and this is what they come to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogPruned {
    /// The last event that was pruned.
    pub through: Seq,
    /// The chain's hash there, in hexadecimal digits.
    pub hash: String,
    /// The hash over everything that the events up to there project.
    pub state_hash: String,
    /// The schema whose tables were hashed: another one has other tables.
    pub schema: i64,
}
