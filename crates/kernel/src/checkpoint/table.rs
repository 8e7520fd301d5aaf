//! Checkpoints: reading rows.

use comity_domain::Seq;

use crate::params;
use crate::store::{Row, StoreError};
use crate::tx::Read;

/// What the log up to an event comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The last event that it covers.
    pub through: Seq,
    /// The chain's hash there.
    pub hash: [u8; 32],
    /// The hash over everything that the events up to there project.
    pub state_hash: String,
    /// The schema whose tables were hashed.
    pub schema: i64,
}

/// Returns up to where the log was pruned; 0 if it is whole.
pub fn pruned_to(read: &mut impl Read) -> Result<Seq, StoreError> {
    read.one("select pruned_to from log_head", &[], Row::take)
}

/// Returns the checkpoint at an event, if there is one.
pub fn at(read: &mut impl Read, through: Seq) -> Result<Option<Checkpoint>, StoreError> {
    read.row(
        "select id, hash, state_hash, schema from checkpoint where id = ?1",
        params![through],
        |row| {
            Ok(Checkpoint {
                through: row.take()?,
                hash: row.take()?,
                state_hash: row.take()?,
                schema: row.take()?,
            })
        },
    )
}

/// Returns the schema of the database.
pub fn schema(read: &mut impl Read) -> Result<i64, StoreError> {
    read.one("select schema from log_head", &[], Row::take)
}
