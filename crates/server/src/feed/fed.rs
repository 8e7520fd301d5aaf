//! One new event, decoded once for all who follow.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use comity_domain::Seq;
use comity_domain::limits::{FEED_BYTES_MAX, FEED_EVENTS_MAX};
use comity_kernel::Error;
use comity_kernel::event::{Entry, Told, View, Watch};

/// An event on its way to those who follow.
pub(crate) struct Fed {
    /// Everything but the payload: enough to tell who sees it.
    bare: Entry,
    kind: Arc<str>,
    bytes: usize,
    /// What there is to tell, until there is too much of it; then the log has it.
    kept: Mutex<Option<Arc<Kept>>>,
}

/// An event with its payload, written down at most once for all who see it alike.
struct Kept {
    entry: Entry,
    whole: OnceLock<Arc<str>>,
    received: OnceLock<Arc<str>>,
    head: OnceLock<Arc<str>>,
}

/// What somebody who follows sees of an event.
pub(super) enum Seen {
    Nothing,
    /// Something that only the log still holds.
    InTheLog,
    Told(Told),
}

/// The newest events, as many as are kept (fault 15).
#[derive(Default)]
pub(super) struct Newest {
    events: VecDeque<Arc<Fed>>,
    bytes: usize,
}

impl Newest {
    /// Keeps an event, and forgets the oldest where there is too much.
    pub(super) fn keep(&mut self, entry: Entry) -> Arc<Fed> {
        let fed = Arc::new(Fed::new(entry));
        self.bytes += fed.bytes;
        self.events.push_back(Arc::clone(&fed));
        while self.bytes > FEED_BYTES_MAX || self.events.len() > FEED_EVENTS_MAX {
            let Some(oldest) = self.events.pop_front() else {
                break;
            };
            self.bytes -= oldest.bytes;
            oldest.kept().take();
        }
        fed
    }
}

impl Fed {
    fn new(entry: Entry) -> Self {
        let kept = Kept {
            entry,
            whole: OnceLock::new(),
            received: OnceLock::new(),
            head: OnceLock::new(),
        };
        Self {
            bare: kept.entry.clone().without_payload(),
            kind: kept.entry.kind().into(),
            bytes: kept.entry.bytes(),
            kept: Mutex::new(Some(Arc::new(kept))),
        }
    }

    pub(super) const fn seq(&self) -> Seq {
        self.bare.seq()
    }

    /// Shows it to somebody.
    pub(super) fn tell(&self, watch: &Watch) -> Result<Seen, Error> {
        let Some(view) = watch.view(&self.bare) else {
            return Ok(Seen::Nothing);
        };
        let kept = self.kept().as_ref().map(Arc::clone);
        let Some(kept) = kept else {
            return Ok(Seen::InTheLog);
        };
        Ok(Seen::Told(Told {
            seq: self.seq(),
            kind: Arc::clone(&self.kind),
            json: kept.json(view)?,
        }))
    }

    fn kept(&self) -> MutexGuard<'_, Option<Arc<Kept>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn json(&self, view: View) -> Result<Arc<str>, Error> {
        let written = match view {
            View::Whole => &self.whole,
            View::Received { bcc: None } => &self.received,
            View::Received { bcc: Some(_) } => return Ok(self.entry.json(view)?.into()),
            View::Head => &self.head,
        };
        if let Some(json) = written.get() {
            return Ok(Arc::clone(json));
        }
        let json = self.entry.json(view)?.into();
        Ok(Arc::clone(written.get_or_init(|| json)))
    }
}
