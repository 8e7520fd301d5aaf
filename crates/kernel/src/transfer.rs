//! Moves a workspace to another database by replaying its log.

use comity_domain::{LeaseTime, Seq};

use crate::doctor::tip_of;
use crate::error::Error;
use crate::log::chain::Chain;
use crate::log::{Recorded, fold};
use crate::memory::Memory;
use crate::options::{Opened, Options};
use crate::tx::Snapshot;

/// Appends events to an empty database and applies them, their chain verified on the way.
pub fn replay_events(events: &[Recorded], target: &Options) -> Result<(), Error> {
    let mut target = empty(target)?;
    let mut chain = Chain::from_start();
    for event in events {
        chain
            .follow(event)
            .map_err(|what| Error::Damaged { what })?;
    }
    fold::replay(&mut *target.writer, events, None)
}

/// Replays the whole log of one database into another, empty one; engines may differ.
///
/// Both end with the same log, chain and tables, and the target's lease clock goes on from the
/// source's mark (3.2). Nothing may write to the source meanwhile.
pub fn replay_log(source: &Options, target: &Options) -> Result<Seq, Error> {
    let mut target = empty(target)?;
    // Moving takes as long as the log is long, so not a request's reader.
    let mut reader = source.database.open_unhurried()?;
    let head = reader.begin()?;
    let memory = Memory::default();
    let lease = LeaseTime::from_micros(head.lease_us);
    let mut snapshot = Snapshot::unserved(&mut *reader, &memory, tip_of(&head));
    let replayed = fold::pages(&mut snapshot, head.seq, |page| {
        fold::replay(&mut *target.writer, page, Some(lease))
    });
    reader.end();
    Ok(replayed?.seq())
}

fn empty(target: &Options) -> Result<Opened, Error> {
    let target = Opened::new(target)?;
    if target.head.seq != Seq::ZERO {
        return Err(Error::Unusable {
            what: format!("the target holds {} events already", target.head.seq),
        });
    }
    Ok(target)
}
