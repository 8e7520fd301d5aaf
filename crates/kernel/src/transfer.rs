//! Moves a workspace to another database by replaying its log.

mod off_log;

use comity_domain::{LeaseTime, Seq};

use crate::doctor::tip_of;
use crate::error::Error;
use crate::log::chain::Chain;
use crate::log::state_hash::state_hash;
use crate::log::{Event, Recorded, fold};
use crate::memory::Memory;
use crate::options::{Opened, Options};
use crate::params;
use crate::redaction::bytes;
use crate::store::{CommitError, Rows, WriteEngine};
use crate::tx::Snapshot;

/// A workspace that was moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Where its log ends.
    pub seq: Seq,
    /// The hash of its projected tables, the same on both sides.
    pub state_hash: String,
}

/// Appends events to an empty database and applies them, their chain verified on the way.
pub fn replay_events(events: &[Recorded], target: &Options) -> Result<(), Error> {
    let mut refill = Refill::into(target)?;
    refill.must_be_empty()?;
    refill.events(events, None)?;
    let whole = refill.chain.is_whole();
    whole.map_err(|what| Error::Damaged { what })
}

/// Moves a whole workspace into another database, which is empty or holds the beginning of the same
/// log; engines may differ.
///
/// Both end with the same log, chain, tables, epoch and answers; the target's lease clock goes on
/// from the source's mark (3.2). What was pruned comes from the source's history, so that the target has
/// the whole log. Presence stays behind. Nothing may write to the source meanwhile.
/// `told` hears of each page that is in.
pub fn replay_log(
    source: &Options,
    target: &Options,
    mut told: impl FnMut(Seq, Seq),
) -> Result<Moved, Error> {
    let mut refill = Refill::into(target)?;
    // Moving takes as long as the log is long, so not a request's reader.
    let mut reader = source.database.open_unhurried()?;
    let head = reader.begin()?;
    let memory = Memory::default();
    let lease = LeaseTime::from_micros(head.lease_us);
    let mut snapshot = Snapshot::unserved(&mut *reader, &memory, tip_of(&head));
    let history = source.history.as_deref();
    fold::pages(&mut snapshot, head.seq, history, |page| {
        refill.events(page, Some(lease))?;
        if let Some(last) = page.last() {
            told(last.seq, head.seq);
        }
        Ok(())
    })?;
    off_log::copy(&mut snapshot, &mut *refill.target.writer)?;
    let before = state_hash(&mut snapshot)?;
    reader.end();
    refill.finish(&head.epoch)?;
    let mut reader = target.database.open_unhurried()?;
    let head = reader.begin()?;
    let after = state_hash(&mut Snapshot::unserved(
        &mut *reader,
        &memory,
        tip_of(&head),
    ))?;
    reader.end();
    if before != after {
        return Err(Error::Damaged {
            what: format!("the source hashes to {before}, the target to {after}"),
        });
    }
    Ok(Moved {
        seq: head.seq,
        state_hash: after,
    })
}

/// Fills a database from elsewhere, event by event.
///
/// It may be empty, or hold the beginning of the same log: then it goes on where that ends, as after
/// a filling that was broken off.
pub struct Refill {
    target: Opened,
    chain: Chain,
}

impl Refill {
    /// Opens a database.
    pub fn into(target: &Options) -> Result<Self, Error> {
        Ok(Self {
            target: Opened::new(target)?,
            chain: Chain::from_start(),
        })
    }

    fn must_be_empty(&self) -> Result<(), Error> {
        match self.target.head.seq {
            Seq::ZERO => Ok(()),
            seq => Err(Error::Unusable {
                what: format!("the target holds {seq} events already"),
            }),
        }
    }

    /// Appends what of the events is not there yet and applies it, the chain verified. The lease
    /// clock is not behind any of them afterwards, nor behind `lease` (3.2).
    pub fn events(&mut self, events: &[Recorded], lease: Option<LeaseTime>) -> Result<(), Error> {
        let mut latest = lease;
        for event in events {
            let followed = self.chain.follow(event);
            followed.map_err(|what| Error::Damaged { what })?;
            latest = latest.max(lease_time(event));
            let (seq, hash) = (self.target.head.seq, &self.target.head.hash);
            if event.seq == seq && event.hash != *hash {
                return Err(Error::Unusable {
                    what: format!(
                        "the target holds another log, which differs at event {seq} or before"
                    ),
                });
            }
        }
        let there = self.target.head.seq;
        let there = events.iter().take_while(|event| event.seq <= there).count();
        match events.get(there..) {
            None | Some([]) => Ok(()),
            Some(new) => fold::replay(&mut *self.target.writer, new, latest),
        }
    }

    /// Keeps bytes by their hash, off the log, if an event that is there names them: an archive may
    /// have those of events that were redacted since.
    pub fn blob(&mut self, sha256: &[u8; 32], bytes: &[u8]) -> Result<(), Error> {
        in_transaction(&mut *self.target.writer, |writer| {
            if !bytes::is_named(writer, sha256)? {
                return Ok(());
            }
            writer.write(
                "insert into blob (sha256, bytes, added_at) values (?1, ?2, ?3)
                 on conflict (sha256) do nothing",
                params![sha256, bytes, 0_i64],
                Rows::Any,
            )
        })
    }

    /// Gives the database the epoch of what it was filled from, and tells where it ends.
    pub fn finish(mut self, epoch: &str) -> Result<Seq, Error> {
        let whole = self.chain.is_whole();
        whole.map_err(|what| Error::Damaged { what })?;
        if self.chain.seq() < self.target.head.seq {
            return Err(Error::Unusable {
                what: format!(
                    "the target holds {} events, more than there are",
                    self.target.head.seq
                ),
            });
        }
        in_transaction(&mut *self.target.writer, |writer| {
            let sql = "update log_head set epoch = ?1";
            writer.write(sql, params![epoch], Rows::Exactly(1))
        })?;
        Ok(self.chain.seq())
    }
}

/// Writes something in a transaction of its own that moves the log nowhere.
fn in_transaction(
    writer: &mut dyn WriteEngine,
    write: impl FnOnce(&mut dyn WriteEngine) -> Result<(), crate::store::StoreError>,
) -> Result<(), Error> {
    let head = writer.begin()?;
    let written = write(writer).and_then(|()| writer.settle());
    if let Err(error) = written {
        writer.rollback();
        return Err(error.into());
    }
    writer.commit(head.seq).map_err(|error| match error {
        CommitError::RolledBack(error) => error.into(),
        CommitError::Indeterminate(_) => Error::Indeterminate,
    })
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
        Event::DispatchClaimed(one) => Some(one.claimed),
        Event::DispatchExtended(one) => Some(one.extended),
        Event::DispatchReturned(one) => Some(one.returned),
        Event::DispatchTimedOut(one) => Some(one.timed_out),
        Event::StateSaved(one) => Some(one.saved),
        Event::StateExpired(one) => Some(one.noticed),
        _ => None,
    }
}
