//! What was pruned: whoever wants it is told, and from where the log still is there.

use comity_domain::Seq;

use crate::error::Error;
use crate::store::{Row, StoreError};
use crate::tx::Read;

/// Refuses to read on behind a place whose next event may be gone.
pub fn must_go_on(read: &mut impl Read, since: Seq) -> Result<(), Error> {
    if since >= pruned_to(read)? {
        return Ok(());
    }
    Err(pruned(read)?)
}

/// Refuses to read an event that is gone.
pub fn must_be_left(read: &mut impl Read, seq: Seq) -> Result<(), Error> {
    if seq > pruned_to(read)? {
        return Ok(());
    }
    Err(pruned(read)?)
}

fn pruned_to(read: &mut impl Read) -> Result<Seq, StoreError> {
    read.one("select pruned_to from log_head", &[], Row::take)
}

fn pruned(read: &mut impl Read) -> Result<Error, StoreError> {
    let oldest: Option<Seq> = read.one("select min(seq) from event", &[], Row::take)?;
    let oldest_seq = oldest.unwrap_or_else(|| read.head().next());
    Ok(Error::Pruned { oldest_seq })
}
