//! Verifies the chain: every link, every payload, no gap but at the start of an epoch (A13, I1).

use comity_domain::Seq;

use super::line::{Recorded, link, payload_hash};
use crate::epoch::event::EpochBegun;

/// Follows the chain event by event.
#[derive(Clone, Debug)]
pub struct Chain {
    seq: Seq,
    hash: [u8; 32],
    events: u64,
}

impl Chain {
    /// Starts before the first event.
    pub const fn from_start() -> Self {
        Self {
            seq: Seq::ZERO,
            hash: [0; 32],
            events: 0,
        }
    }

    /// Starts behind an event whose hash is taken on trust.
    pub const fn behind(event: &Recorded) -> Self {
        Self {
            seq: event.seq,
            hash: event.hash,
            events: 0,
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
        if let Some(payload) = &event.payload
            && payload_hash(payload) != event.payload_sha256
        {
            return Err(format!(
                "the payload of event {seq} is not the one recorded"
            ));
        }
        let line = event
            .line()
            .map_err(|error| format!("event {seq} cannot be written as a line: {error}"))?;
        if link(&self.hash, &line) != event.hash {
            return Err(format!("the chain breaks at event {seq}"));
        }
        self.seq = seq;
        self.hash = event.hash;
        self.events += 1;
        Ok(())
    }

    /// Checks that the chain ends where the head says.
    pub fn ends_at(&self, seq: Seq, hash: &[u8; 32]) -> Result<(), String> {
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

    /// Returns how far the chain was followed.
    pub const fn seq(&self) -> Seq {
        self.seq
    }
}
