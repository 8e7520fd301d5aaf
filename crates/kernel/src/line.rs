//! The line of those who wait for a lease: first come, first served, within this process.
//!
//! Nobody waits inside a transaction, and nobody tries in vain: a waiter looks with a read whenever
//! a lease has ended or one in its way must have expired, and hands its whole command to the writer
//! again once nothing seems to be in the way. Before it does, those before it that want the same
//! have looked too.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use comity_domain::limits::{WAITERS_MAX, WAITS_PER_CREDENTIAL_MAX};
use comity_domain::{Pattern, ProjectId, Seq, Span};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::actor::{Actor, Credential, Party};
use crate::command::Command;
use crate::error::Error;
use crate::query::Query;
use crate::reservation::check::Checked;
use crate::store::{Row, StoreError};
use crate::tx::{Read, Snapshot};

/// How long somebody waits for those before it to have looked, should one of them be stuck.
const TURN_MAX: Duration = Duration::from_secs(1);

/// How soon after a change somebody who waits looks again.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// How long somebody who waits rests when the readers or the writer are busy.
const REST: Duration = Duration::from_millis(50);

/// A command whose caller may wait until others let go.
pub trait Patient: Command + Clone + Sync {
    /// The question whether anything is in the way.
    type Look: Query<Answer = Checked>;

    /// Returns how long the caller wants to wait.
    fn patience(&self) -> Option<Span>;

    /// Returns what it wants, to tell who wants the same.
    fn claim(&self) -> Claim;

    /// Asks whether anything is in its way.
    fn look(&self) -> Self::Look;
}

/// What somebody wants to hold.
#[derive(Clone, Debug)]
pub enum Claim {
    /// Files, without regard to case: who may want the same keeps to the order.
    Files(Vec<Pattern>),
    /// A name.
    Lock(String),
}

impl Claim {
    fn competes_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Files(own), Self::Files(other)) => own
                .iter()
                .any(|own| other.iter().any(|other| own.overlaps(other))),
            (Self::Lock(own), Self::Lock(other)) => own == other,
            _ => false,
        }
    }
}

/// What somebody who waits has looked at.
#[derive(Clone, Copy, Debug)]
struct Looked {
    /// The last end of a lease that it knew of.
    ended: Seq,
    /// When something in its way expires: then it looks by itself.
    wake: Instant,
}

/// Everybody who waits, in the order they came.
#[derive(Clone, Default)]
pub(crate) struct Line {
    places: Arc<Mutex<Places>>,
    /// The last end of a lease, and as of when: one look serves all who wait.
    last_end: Arc<tokio::sync::Mutex<Option<(Seq, Seq)>>>,
}

#[derive(Default)]
struct Places {
    next: u64,
    taken: BTreeMap<u64, Place>,
}

#[derive(Clone)]
struct Place {
    project: Option<ProjectId>,
    credential: Credential,
    claim: Arc<Claim>,
    looked: watch::Receiver<Looked>,
}

/// Somebody's place; dropping it leaves the line.
struct Taken {
    line: Line,
    number: u64,
    looked: watch::Sender<Looked>,
    /// What those before it that want the same have looked at.
    before: Vec<watch::Receiver<Looked>>,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.line.lock().taken.remove(&self.number);
    }
}

impl Line {
    fn join(&self, actor: &Actor, claim: Claim) -> Result<Taken, Error> {
        let claim = Arc::new(claim);
        let (project, credential) = (actor.project(), actor.credential());
        let (sender, looked) = watch::channel(Looked {
            ended: Seq::ZERO,
            wake: Instant::now(),
        });
        let place = Place {
            project,
            credential,
            claim: Arc::clone(&claim),
            looked,
        };
        let (number, before) = self.take_place(place)?;
        // Comparing takes a while; nobody is kept out meanwhile.
        let compete = |place: &Place| {
            let apart = place.project != project && place.project.is_some() && project.is_some();
            !apart && place.claim.competes_with(&claim)
        };
        let before = before.into_iter().filter(compete);
        Ok(Taken {
            line: self.clone(),
            number,
            looked: sender,
            before: before.map(|place| place.looked).collect(),
        })
    }

    fn take_place(&self, place: Place) -> Result<(u64, Vec<Place>), Error> {
        let mut places = self.lock();
        let own = |taken: &&Place| taken.credential == place.credential;
        let busy = |reason: &str| Error::Busy {
            reason: reason.to_owned(),
        };
        if places.taken.len() >= WAITERS_MAX {
            return Err(busy("too many wait for leases already"));
        }
        if places.taken.values().filter(own).count() >= WAITS_PER_CREDENTIAL_MAX {
            return Err(busy("you wait for too many leases already"));
        }
        let before = places.taken.values().cloned().collect();
        let number = places.next;
        places.next += 1;
        places.taken.insert(number, place);
        Ok((number, before))
    }

    /// Returns the last end of a lease as of a head or later.
    async fn last_end<Asked>(&self, head: Seq, ask: impl FnOnce() -> Asked) -> Result<Seq, Error>
    where
        Asked: Future<Output = Result<(Seq, Seq), Error>>,
    {
        let mut known = self.last_end.lock().await;
        match *known {
            Some((as_of, ended)) if as_of >= head => Ok(ended),
            _ => {
                let (as_of, ended) = ask().await?;
                *known = Some((as_of, ended));
                Ok(ended)
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    /// Lets those before it that want the same look first: at this end of a lease, and at what has
    /// expired by now.
    async fn turn(&mut self, ended: Seq) {
        let now = Instant::now();
        let has_looked = |looked: &Looked| looked.ended >= ended && looked.wake > now;
        let all = async {
            for before in &mut self.before {
                // Who has left the line is no longer before anybody.
                let _ = before.wait_for(has_looked).await;
            }
        };
        // One that is stuck must not keep everybody behind it.
        let _ = tokio::time::timeout(TURN_MAX, all).await;
    }

    /// Returns the end of a lease that must still be the last one when the command is decided: if
    /// another has ended meanwhile, those before it look first. The first in line, and whoever tries
    /// for the last time, need not care.
    fn mark(&self, ended: Seq, is_over: bool) -> Option<Seq> {
        let anybody = self
            .before
            .iter()
            .any(|before| before.has_changed().is_ok());
        (anybody && !is_over).then_some(ended)
    }

    /// Notes what it has looked at, for those behind it.
    fn note(&self, ended: Seq, wake: Instant) {
        self.looked.send_replace(Looked { ended, wake });
    }
}

/// Asks for the number of the last event that ended a lease or lock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastEnd;

impl Query for LastEnd {
    const NAME: &'static str = "last_end";
    const WHO: &'static [Party] = &[];
    type Answer = Seq;

    fn run(&self, _actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Seq, Error> {
        Ok(last_end(snapshot)?)
    }
}

/// Returns the number of the last event that ended a lease or lock.
pub(crate) fn last_end(read: &mut impl Read) -> Result<Seq, StoreError> {
    read.one(
        "select coalesce(max(ended_seq), 0) from reservation where ended_seq is not null",
        &[],
        Row::take,
    )
}

/// An answer to come.
type Coming<T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send>>;

/// What a waiter needs of the kernel.
pub(crate) struct Surroundings<T> {
    /// Tries the command once, unless a lease has ended since; whoever stops listening is not
    /// granted anything.
    pub(crate) attempt: Box<dyn Fn(Option<Seq>) -> Coming<T> + Send + Sync>,
    /// Asks whether anything is in the way.
    pub(crate) look: Box<dyn Fn() -> Coming<Checked> + Send + Sync>,
    /// Asks for the last end of a lease: as of when, and which.
    pub(crate) last_end: Box<dyn Fn() -> Coming<(Seq, Seq)> + Send + Sync>,
    /// The log's end.
    pub(crate) head: watch::Receiver<Seq>,
    /// Turns true when nobody should wait any longer.
    pub(crate) ending: watch::Receiver<bool>,
}

/// Tries until it is granted or the patience is at its end.
pub(crate) async fn wait_in<T>(
    line: Line,
    actor: &Actor,
    claim: Claim,
    patience: Duration,
    mut around: Surroundings<T>,
) -> Result<T, Error> {
    let end = Instant::now() + patience;
    let mut place = line.join(actor, claim)?;
    loop {
        let head = *around.head.borrow_and_update();
        let ended = match line.last_end(head, &around.last_end).await {
            Err(Error::Busy { .. }) if Instant::now() < end => {
                tokio::time::sleep(REST).await;
                continue;
            }
            ended => ended?,
        };
        place.turn(ended).await;
        let is_over = Instant::now() >= end || *around.ending.borrow();
        let wake = match (around.look)().await {
            Ok(Checked {
                free: false,
                conflicts,
            }) if !is_over => after_the_first(&conflicts),
            Err(Error::Busy { .. }) if !is_over => Instant::now() + REST,
            // Nothing seems to be in the way, or there is no more time: it is tried, and what the
            // transaction says counts.
            _ => match (around.attempt)(place.mark(ended, is_over)).await {
                Err(Error::ReservationConflict { conflicts }) if !is_over => {
                    after_the_first(&conflicts)
                }
                Err(Error::Busy { .. }) if !is_over => Instant::now() + REST,
                tried => return tried,
            },
        };
        place.note(ended, wake);
        around.rest(&line, ended, wake.min(end)).await;
    }
}

/// Returns when the first of some leases expires, which it does without an event.
fn after_the_first(conflicts: &[crate::reservation::Conflict]) -> Instant {
    let soonest_ms = conflicts.iter().map(|one| one.ttl_remaining_ms).min();
    let soonest_ms = soonest_ms.unwrap_or(0).unsigned_abs() + 1;
    Instant::now() + Duration::from_millis(soonest_ms)
}

impl<T> Surroundings<T> {
    /// Rests until a lease has ended since, or until then.
    async fn rest(&mut self, line: &Line, since: Seq, until: Instant) {
        loop {
            tokio::select! {
                moved = self.head.changed() => {
                    if moved.is_err() {
                        return;
                    }
                    // Many changes in a moment are looked at together.
                    tokio::time::sleep(LOOK_EVERY).await;
                    let head = *self.head.borrow_and_update();
                    match line.last_end(head, &self.last_end).await {
                        Ok(ended) if ended <= since => {}
                        _ => return,
                    }
                }
                _ = self.ending.changed() => return,
                () = tokio::time::sleep_until(until) => return,
            }
        }
    }
}
