//! Moves a workspace to another database by replaying its log.

use comity_domain::{LeaseTime, Seq};

use crate::doctor::tip_of;
use crate::error::Error;
use crate::log::chain::Chain;
use crate::log::{Event, Recorded, fold};
use crate::memory::Memory;
use crate::options::{Opened, Options};
use crate::params;
use crate::store::{CommitError, Rows};
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

/// Fills an empty database from elsewhere, event by event.
pub struct Refill {
    target: Opened,
    chain: Chain,
}

impl Refill {
    /// Opens a database that must be empty.
    pub fn into(target: &Options) -> Result<Self, Error> {
        Ok(Self {
            target: empty(target)?,
            chain: Chain::from_start(),
        })
    }

    /// Appends events and applies them, their chain verified; the lease clock is not behind any of
    /// them afterwards (3.2).
    pub fn events(&mut self, events: &[Recorded]) -> Result<(), Error> {
        let mut lease = None;
        for event in events {
            let followed = self.chain.follow(event);
            followed.map_err(|what| Error::Damaged { what })?;
            lease = lease.max(lease_time(event));
        }
        fold::replay(&mut *self.target.writer, events, lease)
    }

    /// Keeps bytes by their hash, off the log.
    pub fn blob(&mut self, sha256: &[u8; 32], bytes: &[u8]) -> Result<(), Error> {
        let writer = &mut *self.target.writer;
        let head = writer.begin()?;
        writer.write(
            "insert into blob (sha256, bytes, added_at) values (?1, ?2, ?3)
             on conflict (sha256) do nothing",
            params![sha256, bytes, 0_i64],
            Rows::Any,
        )?;
        writer.settle()?;
        writer.commit(head.seq).map_err(commit_failed)
    }

    /// Gives the database the epoch of what it was filled from, and tells where it ends.
    pub fn finish(mut self, epoch: &str) -> Result<Seq, Error> {
        let writer = &mut *self.target.writer;
        let head = writer.begin()?;
        let sql = "update log_head set epoch = ?1";
        writer.write(sql, params![epoch], Rows::Exactly(1))?;
        writer.settle()?;
        writer.commit(head.seq).map_err(commit_failed)?;
        Ok(self.chain.seq())
    }
}

fn commit_failed(error: CommitError) -> Error {
    match error {
        CommitError::RolledBack(error) => error.into(),
        CommitError::Indeterminate(_) => Error::Indeterminate,
    }
}

/// Returns what the lease clock said when an event happened, where the event knows.
fn lease_time(recorded: &Recorded) -> Option<LeaseTime> {
    let payload = recorded.payload.as_deref()?;
    match Event::read(&recorded.kind, recorded.v, payload)?.ok()? {
        Event::FilesReserved(one) => Some(one.granted),
        Event::LockAcquired(one) => Some(one.granted),
        Event::LeaseRenewed(one) => Some(one.renewed),
        Event::LeaseReleased(one) => Some(one.0.ended),
        Event::LeaseForced(one) => Some(one.ended.ended),
        Event::LeaseRetired(one) => Some(one.0.ended),
        Event::LeaseExpired(one) => Some(one.0.ended),
        Event::SentinelClaimed(one) => Some(one.claimed),
        _ => None,
    }
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
