//! A claim, as its holder sees it: by its own clock, and never longer than it is sure of (3.3).

use std::time::Duration;

use comity_domain::{DispatchId, Line, Seq, Ttl, limits::PROGRESS_BYTES_MAX};
use comity_kernel::dispatch::{
    Dispatch, ExtendDispatch, GetDispatch, ReportDispatch, StartDispatch,
};

use super::clock::Moment;
use super::desk::{Desk, Key, Missed, Pace};
use super::words::line;

/// How often a claim is looked at, so that a cancelled command ends soon.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How often at most a claim's progress is told.
const REPORT_EVERY: Duration = Duration::from_secs(10);
/// How long to wait after a call that may go better the next time.
const AGAIN: Duration = Duration::from_millis(500);
/// How much earlier than it must a claim counts as over.
const MARGIN_MAX: Duration = Duration::from_secs(2);

/// A claim.
pub(super) struct Hold<'w> {
    desk: &'w Desk,
    /// The dispatch's number.
    pub(super) id: DispatchId,
    /// The claim's fence.
    pub(super) fence: Seq,
    lease: Ttl,
    /// When it counts as over.
    pub(super) until: Moment,
    /// When the work must be done.
    pub(super) deadline: Option<Moment>,
    extend_at: Moment,
    look_at: Moment,
    report_at: Moment,
    told: String,
}

/// Why a claim is not held any more.
#[derive(Debug)]
pub(super) struct Lost(pub(super) String);

impl<'w> Hold<'w> {
    /// Takes a claim that was answered now, and begins.
    pub(super) fn begin(
        desk: &'w Desk,
        dispatch: &Dispatch,
        fence: Seq,
        lease: Ttl,
    ) -> Result<Self, Lost> {
        let now = Moment::now();
        let mut hold = Self {
            desk,
            id: dispatch.id,
            fence,
            lease,
            // Until it is known better: the answer came after the claim began.
            until: now.after(length(lease) / 2),
            deadline: None,
            extend_at: now,
            look_at: now.after(LOOK_EVERY),
            report_at: now.after(REPORT_EVERY),
            told: String::new(),
        };
        let start = StartDispatch {
            id: hold.id,
            fence: Some(fence),
            expected_revision: None,
        };
        let (sent, started) = hold.insist(|desk, key| {
            let sent = Moment::now();
            let started = desk.command(Pace::Hurried, key, &start)?;
            Ok((sent, started.dispatch))
        })?;
        hold.is_known(sent, &started);
        // By now rather than by then: a command must not end before its deadline has come.
        let deadline = started.deadline_remaining_ms.map(millis);
        hold.deadline = deadline.map(|left| Moment::now().after(left));
        Ok(hold)
    }

    /// Returns how long nothing needs to be done.
    pub(super) fn patience(&self) -> Duration {
        let next = self.extend_at.min(self.look_at).min(self.until);
        next.left().max(Duration::from_millis(1))
    }

    /// Does what is due: keeps the claim, tells the progress, looks whether it is still ours.
    pub(super) fn keep(&mut self, progress: &str) -> Result<(), Lost> {
        if self.until.is_past() {
            return Err(Lost(
                "its claim was over before it could be kept".to_owned(),
            ));
        }
        if self.extend_at.is_past() {
            return self.extend();
        }
        if !self.look_at.is_past() {
            return Ok(());
        }
        self.look_at = Moment::now().after(LOOK_EVERY);
        let progress = line(progress).filter(|line| **line != *self.told);
        match progress.filter(|_| self.report_at.is_past()) {
            Some(progress) => self.report(progress),
            None => self.look(),
        }
    }

    /// Calls until it is answered or the claim is over; a refusal means that it is lost.
    pub(super) fn insist<T>(
        &self,
        call: impl Fn(&Desk, &Key) -> Result<T, Missed>,
    ) -> Result<T, Lost> {
        self.insist_or(call)?.map_err(Lost)
    }

    /// Calls until it is answered or the claim is lost or over; returns what is wrong with the
    /// request, if that is the answer.
    pub(super) fn insist_or<T>(
        &self,
        call: impl Fn(&Desk, &Key) -> Result<T, Missed>,
    ) -> Result<Result<T, String>, Lost> {
        let key = Key::new().map_err(|error| Lost(error.to_string()))?;
        let mut pause = Duration::from_millis(50);
        loop {
            let missed = match call(self.desk, &key) {
                Ok(answer) => return Ok(Ok(answer)),
                Err(missed) => missed,
            };
            if missed.is_bad() {
                return Ok(Err(missed.message().to_owned()));
            }
            if missed.is_lost() || self.until.left() <= pause {
                return Err(Lost(missed.message().to_owned()));
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_secs(5));
        }
    }

    fn extend(&mut self) -> Result<(), Lost> {
        let sent = Moment::now();
        let extend = ExtendDispatch {
            id: self.id,
            lease: Some(self.lease),
            fence: Some(self.fence),
            expected_revision: None,
        };
        let key = Key::new().map_err(|error| Lost(error.to_string()))?;
        let extended = self.desk.command(Pace::Hurried, &key, &extend);
        if let Some(extended) = answered(extended)? {
            self.is_known(sent, &extended.dispatch);
        } else {
            self.extend_at = Moment::now().after(AGAIN.min(length(self.lease) / 10));
        }
        Ok(())
    }

    fn report(&mut self, progress: Line<PROGRESS_BYTES_MAX>) -> Result<(), Lost> {
        self.report_at = Moment::now().after(REPORT_EVERY);
        let report = ReportDispatch {
            id: self.id,
            tokens: None,
            progress: Some(progress.clone()),
            fence: Some(self.fence),
            expected_revision: None,
        };
        let key = Key::new().map_err(|error| Lost(error.to_string()))?;
        let reported = self.desk.command(Pace::Hurried, &key, &report);
        if answered(reported)?.is_some() {
            self.told = progress.into_string();
        }
        Ok(())
    }

    fn look(&self) -> Result<(), Lost> {
        let Some(found) = answered(self.desk.query(&GetDispatch { id: self.id }))? else {
            return Ok(());
        };
        let found = found.dispatch;
        if found.state.is_final() {
            return Err(Lost(format!("it is {}", found.state.as_str())));
        }
        if found.fence != Some(self.fence) || !found.state.is_claimed() {
            return Err(Lost("its claim is another's by now".to_owned()));
        }
        Ok(())
    }

    /// Takes note of how long the claim lasts, as it was answered to what was sent then.
    fn is_known(&mut self, sent: Moment, dispatch: &Dispatch) {
        let left = dispatch.claim_remaining_ms.map_or(Duration::ZERO, millis);
        let margin = (length(self.lease) / 10).min(MARGIN_MAX);
        self.until = sent.after(left.saturating_sub(margin));
        self.extend_at = sent.after(length(self.lease) / 3).min(self.until);
    }
}

/// Returns the answer, nothing if there may be one later, or that the claim is lost.
fn answered<T>(answer: Result<T, Missed>) -> Result<Option<T>, Lost> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(missed) if missed.is_lost() => Err(Lost(missed.message().to_owned())),
        Err(_) => Ok(None),
    }
}

fn length(lease: Ttl) -> Duration {
    Duration::from_micros(lease.micros().unsigned_abs())
}

fn millis(millis: i64) -> Duration {
    Duration::from_millis(millis.max(0).unsigned_abs())
}
