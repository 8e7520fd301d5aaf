//! A worker: claims work and does it, several pieces at once if told.

use std::ffi::OsString;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use comity_domain::limits::WAIT_US_MAX;
use comity_domain::{DispatchId, Outcome, Seq, Span, Ttl};
use comity_kernel::dispatch::{ClaimDispatch, Dispatch, FinishDispatch, GetDispatch};
use comity_kernel::project::ProjectRef;
use comity_kernel::run::AgentKind;

use super::desk::{Desk, Key, Pace, Way, code, is_passing};
use super::folder::Folder;
use super::keepers::Keepers;
use super::record::{self, Running};
use super::shown::{Found, Progress};
use super::stop::Stop;
use super::words::lines;
use super::work::{Done, Settled};
use crate::failure::Failure;

/// How long the directory is held at a time without a server: one that starts waits for it.
const EMBEDDED_US: i64 = 1_000_000;
/// How long to wait at most before claiming again after a call that may go better.
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// A worker.
pub(super) struct Worker {
    pub(super) desk: Desk,
    pub(super) folder: Folder,
    pub(super) keepers: Keepers,
    pub(super) stop: Stop,
    pub(super) shown: Progress,
    pub(super) command: Vec<OsString>,
    pub(super) kinds: Vec<AgentKind>,
    pub(super) project: Option<ProjectRef>,
    pub(super) lease: Ttl,
    pub(super) grace: Duration,
    /// Whose turn it is to claim: nobody needs to wait for work more than once.
    pub(super) turn: Mutex<()>,
    /// How many dispatches it has in hand.
    pub(super) busy: AtomicUsize,
}

/// Whether a worker goes on when there is nothing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    /// It claims once.
    Once,
    /// It waits for more.
    Loop,
}

impl Patience {
    /// Returns how long a claim waits for work.
    fn wait(self, way: Way) -> Option<Span> {
        match (self, way) {
            (Self::Once, _) => None,
            (Self::Loop, Way::Served) => Some(Span::from_micros(WAIT_US_MAX)),
            (Self::Loop, Way::Embedded) => Some(Span::from_micros(EMBEDDED_US)),
        }
    }
}

/// How much was done at one of a worker's places.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) completed: usize,
    pub(super) others: usize,
}

/// Counts a dispatch as in hand until it is dropped, even by a panic.
struct Busy<'w>(&'w AtomicUsize);

impl<'w> Busy<'w> {
    fn new(count: &'w AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Worker {
    /// Claims and works at one place until there is nothing to do, or the worker is stopped.
    pub(super) fn serve(&self, patience: Patience) -> Result<Tally, Failure> {
        let mut tally = Tally::default();
        let mut pause = Duration::from_millis(100);
        while self.stop.asked().is_none() {
            match self.claim(patience) {
                Ok(Some((dispatch, fence))) => {
                    pause = Duration::from_millis(100);
                    self.do_one(&dispatch, fence, &mut tally)?;
                }
                Ok(None) => {}
                Err(failure) if patience == Patience::Loop && is_passing(&failure) => {
                    self.shown.complain(&failure);
                    self.stop.wait(pause);
                    pause = (pause * 2).min(PAUSE_MAX);
                }
                Err(failure) => return Err(failure),
            }
            if patience == Patience::Once {
                break;
            }
        }
        Ok(tally)
    }

    fn do_one(&self, dispatch: &Dispatch, fence: Seq, tally: &mut Tally) -> Result<(), Failure> {
        let busy = Busy::new(&self.busy);
        let done = self.work(dispatch, fence);
        self.shown.tell(&done);
        drop(busy);
        match done {
            Done {
                broken: Some(why), ..
            } => Err(Failure::unusable(why)),
            Done {
                end: Settled::Reported(Outcome::Completed, _),
                ..
            } => {
                tally.completed += 1;
                Ok(())
            }
            _ => {
                tally.others += 1;
                Ok(())
            }
        }
    }

    /// Claims something to do, if there is anything; one place of the worker at a time.
    ///
    /// A claim whose answer was lost is the same claim again, by its key.
    fn claim(&self, patience: Patience) -> Result<Option<(Dispatch, Seq)>, Failure> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let key = Key::new()?;
        let mut first = None;
        let mut again = None;
        let mut is_repeated = false;
        while self.stop.asked().is_none() {
            let claimed = self.desk.command_by(&key, |way| {
                let wait = again.take().unwrap_or_else(|| patience.wait(way));
                first.get_or_insert(wait);
                self.request(wait)
            });
            match claimed {
                Ok(claimed) => {
                    let with_fence = |one: Dispatch| one.fence.map(|fence| (one, fence));
                    return Ok(claimed.dispatch.and_then(with_fence));
                }
                // It was granted when another way was open, and asked for in other words.
                Err(failure) if code(&failure) == "idempotency_mismatch" && !is_repeated => {
                    (again, is_repeated) = (first, true);
                }
                Err(failure) if failure.is_away && patience == Patience::Loop => {
                    self.shown.complain(&failure);
                    self.stop.wait(Duration::from_millis(200));
                }
                Err(failure) => return Err(failure),
            }
        }
        Ok(None)
    }

    fn request(&self, wait: Option<Span>) -> ClaimDispatch {
        ClaimDispatch {
            project: self.project.clone(),
            agent_kinds: self.kinds.clone(),
            lease: Some(self.lease),
            wait,
        }
    }

    /// Ends what dead workers left, says so of claims that still hold, and forgets what was written
    /// long ago.
    pub(super) fn sweep(&self) -> Result<(), Failure> {
        let swept = record::sweep(&self.folder).and_then(|swept| {
            self.folder.forget_old_logs()?;
            Ok(swept)
        });
        let swept = swept.map_err(|error| {
            let folder = self.folder.path().display();
            Failure::unusable(format!("`{folder}` cannot be read: {error}"))
        })?;
        for left in swept {
            let end = self.give_up(&left.running)?;
            self.shown.found(&left.running, end);
            if end != Found::Kept {
                left.remove();
            }
        }
        Ok(())
    }

    /// Reports work whose worker died, if this is the agent whose claim it is and it still holds.
    fn give_up(&self, left: &Running) -> Result<Found, Failure> {
        let (id, fence) = (DispatchId::new(left.dispatch), Seq::new(left.fence));
        let finish = FinishDispatch {
            id,
            outcome: Outcome::Failed,
            verdict: None,
            summary: lines("its worker died"),
            result: None,
            fence: Some(fence),
            expected_revision: None,
        };
        let reported = self.desk.command(Pace::Hurried, &Key::new()?, &finish);
        if reported.is_ok() {
            return Ok(Found::Reported);
        }
        // Another agent's claim is that agent's to report, as long as it holds.
        let found = self.desk.query(&GetDispatch { id });
        let is_over = found.map_or_else(
            |missed| missed.is_lost(),
            |found| {
                let found = found.dispatch;
                found.fence != Some(fence) || found.claim_remaining_ms.is_none_or(|left| left == 0)
            },
        );
        Ok(if is_over { Found::Over } else { Found::Kept })
    }
}
