//! What was pruned: whoever wants it is told, and from where the log still is there.

use comity_domain::{RunId, Seq};

use crate::checkpoint::table::pruned_to;
use crate::error::Error;
use crate::params;
use crate::store::{Row, StoreError};
use crate::tx::Read;

/// Refuses to read on behind a place whose next event may be gone.
pub fn must_go_on(read: &mut impl Read, since: Seq) -> Result<(), Error> {
    if since >= pruned_to(read)? {
        return Ok(());
    }
    Err(pruned(read)?)
}

/// Refuses to read on in a run behind a place, if some of its events behind it are gone.
pub fn must_be_left_of_run(read: &mut impl Read, run: RunId, since: Seq) -> Result<(), Error> {
    if since >= pruned_to(read)? {
        return Ok(());
    }
    let gone: i64 = read.one(
        "select (select count(*) from pruned_run where run = ?1) + (
            select count(*) from (select seq from event where run = ?1 and seq <= (
                select pruned_to from log_head) limit 1) left_there)",
        params![run],
        Row::take,
    )?;
    match gone {
        0 => Ok(()),
        _ => Err(pruned(read)?),
    }
}

/// Refuses to read an event that is gone.
pub fn must_be_left(read: &mut impl Read, seq: Seq) -> Result<(), Error> {
    if seq > pruned_to(read)? {
        return Ok(());
    }
    Err(pruned(read)?)
}

fn pruned(read: &mut impl Read) -> Result<Error, StoreError> {
    // Some that were pruned may be there for another moment.
    let sql = "select min(seq) from event where seq > (select pruned_to from log_head)";
    let oldest: Option<Seq> = read.one(sql, &[], Row::take)?;
    let oldest_seq = oldest.unwrap_or_else(|| read.head().next());
    Ok(Error::Pruned { oldest_seq })
}
