//! Verifies the chain: every link, every payload, no gap but at the start of an epoch (A13, I1).
//!
//! A payload that is not the one that was chained is good if a later event says that it was redacted
//! and what is left of it (I8).

use std::collections::BTreeMap;

use comity_domain::Seq;

use super::line::{Recorded, link, payload_hash};
use crate::epoch::event::EpochBegun;
use crate::redaction::event::EventRedacted;

/// Follows the chain event by event.
#[derive(Clone, Debug)]
pub struct Chain {
    seq: Seq,
    hash: [u8; 32],
    events: u64,
    /// Payloads that are not those that were chained, by their hash, until a redaction says so.
    open: BTreeMap<Seq, [u8; 32]>,
}

impl Chain {
    /// Starts before the first event.
    pub const fn from_start() -> Self {
        Self {
            seq: Seq::ZERO,
            hash: [0; 32],
            events: 0,
            open: BTreeMap::new(),
        }
    }

    /// Starts behind an event whose hash is taken on trust.
    pub const fn behind(event: &Recorded) -> Self {
        Self {
            seq: event.seq,
            hash: event.hash,
            events: 0,
            open: BTreeMap::new(),
        }
    }

    /// Starts behind a checkpoint, which was proven when it was made.
    pub const fn behind_checkpoint(seq: Seq, hash: [u8; 32]) -> Self {
        Self {
            seq,
            hash,
            events: 0,
            open: BTreeMap::new(),
        }
    }

    /// Takes the next event, or says what is wrong with it.
    pub fn follow(&mut self, event: &Recorded) -> Result<(), String> {
        let seq = event.seq;
        // What was lost leaves a gap, and only the first event of an epoch comes after one.
        let follows = match event.kind.as_str() {
            EpochBegun::KIND => seq > self.seq,
            _ => seq == self.seq.next(),
        };
        if !follows {
            return Err(format!("event {seq} follows event {}", self.seq));
        }
        let found = event.payload.as_deref().map(payload_hash);
        let found = found.ok_or_else(|| format!("event {seq} has lost its payload"))?;
        let line = event
            .line()
            .map_err(|error| format!("event {seq} cannot be written as a line: {error}"))?;
        if link(&self.hash, &line) != event.hash {
            return Err(format!("the chain breaks at event {seq}"));
        }
        if found != event.payload_sha256 {
            self.open.insert(seq, found);
        } else if event.kind == EventRedacted::KIND {
            self.redacted(event)?;
        }
        self.seq = seq;
        self.hash = event.hash;
        self.events += 1;
        Ok(())
    }

    /// Takes note of what is left of an event that was redacted.
    fn redacted(&mut self, event: &Recorded) -> Result<(), String> {
        let payload = event.payload.as_deref().unwrap_or_default();
        let redacted: EventRedacted = serde_json::from_str(payload)
            .map_err(|error| format!("event {} cannot be read: {error}", event.seq))?;
        // A copy that was made before still has the whole payload; the log itself has not.
        match self.open.remove(&redacted.id) {
            Some(found) if found != payload_hash(&redacted.remnant) => {
                Err(not_recorded(redacted.id))
            }
            _ => Ok(()),
        }
    }

    /// Checks that every payload is the one that was chained, or what a redaction left of it.
    pub fn is_whole(&self) -> Result<(), String> {
        match self.open.first_key_value() {
            Some((seq, _)) => Err(not_recorded(*seq)),
            None => Ok(()),
        }
    }

    /// Checks that the chain ends where the head says, and that its payloads are in order.
    pub fn ends_at(&self, seq: Seq, hash: &[u8; 32]) -> Result<(), String> {
        self.is_whole()?;
        if self.seq != seq {
            return Err(format!("the head says {seq}, the log ends at {}", self.seq));
        }
        if self.hash != *hash {
            return Err(format!("the head's hash is not that of event {seq}"));
        }
        Ok(())
    }

    /// Returns how many events were followed.
    pub const fn events(&self) -> u64 {
        self.events
    }

    /// Returns the hash of the last link.
    pub const fn hash(&self) -> &[u8; 32] {
        &self.hash
    }

    /// Returns how far the chain was followed.
    pub const fn seq(&self) -> Seq {
        self.seq
    }
}

fn not_recorded(seq: Seq) -> String {
    format!("the payload of event {seq} is not the one recorded")
}
