//! One new event, decoded once for all who follow.

use std::sync::{Arc, OnceLock};

use comity_domain::Seq;
use comity_domain::limits::FEED_EVENT_BYTES_MAX;
use comity_kernel::Error;
use comity_kernel::event::{Entry, Told, View, Watch};

/// An event on its way to those who follow.
pub(crate) struct Fed {
    entry: Entry,
    kind: Arc<str>,
    /// Whether it is too large to be kept for those who are slow; they read it from the log.
    large: bool,
    whole: OnceLock<Arc<str>>,
    received: OnceLock<Arc<str>>,
    head: OnceLock<Arc<str>>,
}

/// What somebody who follows sees of an event.
pub(super) enum Seen {
    Nothing,
    /// Something that only the log holds.
    InTheLog,
    Told(Told),
}

impl Fed {
    pub(super) fn new(entry: Entry) -> Self {
        let large = entry.bytes() > FEED_EVENT_BYTES_MAX;
        Self {
            kind: entry.kind().into(),
            entry: if large {
                entry.without_payload()
            } else {
                entry
            },
            large,
            whole: OnceLock::new(),
            received: OnceLock::new(),
            head: OnceLock::new(),
        }
    }

    pub(super) const fn seq(&self) -> Seq {
        self.entry.seq()
    }

    /// Shows it to somebody; what several see alike is written down once.
    pub(super) fn tell(&self, watch: &Watch) -> Result<Seen, Error> {
        let Some(view) = watch.view(&self.entry) else {
            return Ok(Seen::Nothing);
        };
        if self.large {
            return Ok(Seen::InTheLog);
        }
        let json = match view {
            View::Whole => self.once(&self.whole, view)?,
            View::Received { bcc: None } => self.once(&self.received, view)?,
            View::Received { bcc: Some(_) } => self.entry.json(view)?.into(),
            View::Head => self.once(&self.head, view)?,
        };
        Ok(Seen::Told(Told {
            seq: self.seq(),
            kind: Arc::clone(&self.kind),
            json,
        }))
    }

    fn once(&self, written: &OnceLock<Arc<str>>, view: View) -> Result<Arc<str>, Error> {
        if let Some(json) = written.get() {
            return Ok(Arc::clone(json));
        }
        let json = self.entry.json(view)?.into();
        Ok(Arc::clone(written.get_or_init(|| json)))
    }
}
