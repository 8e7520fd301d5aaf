//! The line of those who wait for a lease or for work: first come, first served, within this
//! process.
//!
//! Nobody waits inside a transaction, and nobody tries in vain: a waiter looks with a read whenever
//! something was let go or what is in its way must have expired, and hands its whole command to the
//! writer again once nothing seems to be in the way. Before it does, those before it that want the
//! same have looked too.

use std::collections::{BTreeMap, BTreeSet};
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
use crate::params;
use crate::query::Query;
use crate::reservation::Conflict;
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
    type Look: Query<Answer: Into<Seen>>;

    /// Returns how long the caller wants to wait.
    fn patience(&self) -> Option<Span>;

    /// Returns what it wants, to tell who wants the same.
    fn claim(&self) -> Claim;

    /// Asks whether anything is in its way.
    fn look(&self) -> Self::Look;

    /// Tells whether an answer is none yet, for one who can wait.
    fn is_in_vain(_answer: &Self::Answer) -> bool {
        false
    }
}

/// What a look told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Nothing is in the way.
    Free,
    /// Something is.
    Taken {
        /// When it goes away without an event, if it does.
        until_ms: Option<i64>,
    },
}

impl From<Checked> for Seen {
    fn from(checked: Checked) -> Self {
        if checked.free {
            return Self::Free;
        }
        Self::taken_by(&checked.conflicts)
    }
}

impl Seen {
    /// Says that leases are in the way, and when the first of them expires.
    fn taken_by(conflicts: &[Conflict]) -> Self {
        let soonest_ms = conflicts.iter().map(|one| one.ttl_remaining_ms).min();
        Self::Taken {
            until_ms: Some(soonest_ms.unwrap_or(0)),
        }
    }
}

/// What somebody wants to hold.
#[derive(Clone, Debug)]
pub enum Claim {
    /// Files, without regard to case: who may want the same keeps to the order.
    Files(Vec<Pattern>),
    /// A name.
    Lock(String),
    /// Work for kinds of agent.
    Work(BTreeSet<String>),
}

impl Claim {
    fn competes_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Files(own), Self::Files(other)) => own
                .iter()
                .any(|own| other.iter().any(|other| own.overlaps(other))),
            (Self::Lock(own), Self::Lock(other)) => own == other,
            (Self::Work(own), Self::Work(other)) => !own.is_disjoint(other),
            _ => false,
        }
    }

    /// Returns what must happen before it can be granted.
    const fn awaits(&self) -> Awaited {
        match self {
            Self::Files(_) | Self::Lock(_) => Awaited::Lease,
            Self::Work(_) => Awaited::Work,
        }
    }
}

/// What those who wait hope for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Awaited {
    /// The end of a lease.
    Lease,
    /// A dispatch that may be claimed.
    Work,
}

/// The last event that let something go, as somebody knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    of: Awaited,
    known: Known,
}

/// What was let go last, and as of when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    /// Up to here everything is known.
    as_of: Seq,
    /// The last event that let something go; it may be long ago.
    let_go: Seq,
}

impl Mark {
    /// Tells whether more was let go since.
    pub(crate) fn is_passed(self, read: &mut impl Read) -> Result<bool, StoreError> {
        Ok(last_let_go(read, self.of, self.known.as_of)?.is_some())
    }
}

/// What somebody who waits has looked at.
#[derive(Clone, Copy, Debug)]
struct Looked {
    /// The last event that let something go that it knew of.
    let_go: Seq,
    /// When what is in its way expires: then it looks by itself.
    wake: Instant,
}

/// Everybody who waits, in the order they came.
#[derive(Clone, Default)]
pub(crate) struct Line {
    places: Arc<Mutex<Places>>,
    /// What was let go last, and as of when: one look serves all who wait for the same.
    leases: LastLetGo,
    work: LastLetGo,
}

type LastLetGo = Arc<tokio::sync::Mutex<Option<Known>>>;

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
            let_go: Seq::ZERO,
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
            return Err(busy("too many wait already"));
        }
        if places.taken.values().filter(own).count() >= WAITS_PER_CREDENTIAL_MAX {
            return Err(busy("you wait for too much already"));
        }
        let before = places.taken.values().cloned().collect();
        let number = places.next;
        places.next += 1;
        places.taken.insert(number, place);
        Ok((number, before))
    }

    /// Returns what was let go last as of a head or later. `ask` is told from where on to look.
    async fn last_let_go<Asked>(
        &self,
        of: Awaited,
        head: Seq,
        ask: impl FnOnce(LastLetGoQuery) -> Asked,
    ) -> Result<Known, Error>
    where
        Asked: Future<Output = Result<(Seq, Option<Seq>), Error>>,
    {
        let mut known = match of {
            Awaited::Lease => self.leases.lock().await,
            Awaited::Work => self.work.lock().await,
        };
        let last = match *known {
            Some(last) if last.as_of >= head => return Ok(last),
            // Whoever comes first looks at what is there anyway.
            last => last.unwrap_or(Known {
                as_of: head,
                let_go: head,
            }),
        };
        let since = last.as_of;
        let (as_of, found) = ask(LastLetGoQuery { of, since }).await?;
        // Other events let nothing go, and wake nobody.
        let let_go = found.unwrap_or(last.let_go);
        Ok(*known.insert(Known { as_of, let_go }))
    }

    fn lock(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    /// Lets those before it that want the same look first: at what was let go, and at what has
    /// expired by now.
    async fn turn(&mut self, let_go: Seq) {
        let now = Instant::now();
        let has_looked = |looked: &Looked| looked.let_go >= let_go && looked.wake > now;
        let all = async {
            for before in &mut self.before {
                // Who has left the line is no longer before anybody.
                let _ = before.wait_for(has_looked).await;
            }
        };
        // One that is stuck must not keep everybody behind it.
        let _ = tokio::time::timeout(TURN_MAX, all).await;
    }

    /// Returns the event that must still be the last to have let something go when the command is
    /// decided: if there was another meanwhile, those before it look first. The first in line, and
    /// whoever tries for the last time, need not care.
    fn mark(&self, mark: Mark, is_over: bool) -> Option<Mark> {
        let anybody = self
            .before
            .iter()
            .any(|before| before.has_changed().is_ok());
        (anybody && !is_over).then_some(mark)
    }

    /// Notes what it has looked at, for those behind it.
    fn note(&self, let_go: Seq, wake: Instant) {
        self.looked.send_replace(Looked { let_go, wake });
    }
}

/// Asks for the number of the last event since another that let something go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastLetGoQuery {
    of: Awaited,
    since: Seq,
}

impl Query for LastLetGoQuery {
    const NAME: &'static str = "last_let_go";
    const WHO: &'static [Party] = &[];
    type Answer = Option<Seq>;

    fn run(&self, _actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Option<Seq>, Error> {
        Ok(last_let_go(snapshot, self.of, self.since)?)
    }
}

/// Returns the number of the last event after `since` that let something go, if there was one.
fn last_let_go(read: &mut impl Read, of: Awaited, since: Seq) -> Result<Option<Seq>, StoreError> {
    match of {
        Awaited::Lease => read.one(
            "select max(ended_seq) from reservation where ended_seq > ?1",
            params![since],
            Row::take,
        ),
        // Work is there when it is made, given back, freed by an end, or its run goes on.
        Awaited::Work => read.one(
            "select max(seq) from event
             where seq > ?1 and subject_type in ('dispatch', 'run')
                 and kind not in ('dispatch_claimed', 'dispatch_started', 'dispatch_extended',
                     'dispatch_reported')",
            params![since],
            Row::take,
        ),
    }
}

/// An answer to come.
type Coming<T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send>>;

/// A question that may be asked again.
pub(crate) type Ask<T> = Box<dyn Fn() -> Coming<T> + Send + Sync>;

/// The same about something.
pub(crate) type AskOf<Q, T> = Box<dyn Fn(Q) -> Coming<T> + Send + Sync>;

/// What a waiter needs of the kernel.
pub(crate) struct Surroundings<T> {
    /// Asks for the answer that the caller's key has already.
    pub(crate) answered: Ask<Option<T>>,
    /// Tries the command once, unless something was let go since; whoever stops listening is not
    /// granted anything.
    pub(crate) attempt: AskOf<Option<Mark>, T>,
    /// Tells whether what came of it is nothing yet.
    pub(crate) is_in_vain: fn(&T) -> bool,
    /// Asks whether anything is in the way.
    pub(crate) look: Ask<Seen>,
    /// Asks what was let go last: as of when, and which event, if one did.
    pub(crate) last_let_go: AskOf<LastLetGoQuery, (Seq, Option<Seq>)>,
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
    let of = claim.awaits();
    // Whoever was answered before needs no place, and whoever was not has come already.
    let place = line.join(actor, claim);
    if let Some(answer) = around.answer_given(end).await? {
        return Ok(answer);
    }
    let mut place = place?;
    loop {
        let head = *around.head.borrow_and_update();
        let known = match line.last_let_go(of, head, &around.last_let_go).await {
            Err(Error::Busy { .. }) if Instant::now() < end => {
                tokio::time::sleep(REST).await;
                continue;
            }
            known => known?,
        };
        let mark = Mark { of, known };
        place.turn(known.let_go).await;
        let is_over = Instant::now() >= end || *around.ending.borrow();
        let wake = match (around.look)().await {
            Ok(seen @ Seen::Taken { .. }) if !is_over => seen.wake(end),
            Err(Error::Busy { .. }) if !is_over => Instant::now() + REST,
            // Nothing seems to be in the way, or there is no more time: it is tried, and what the
            // transaction says counts.
            _ => match (around.attempt)(place.mark(mark, is_over)).await {
                Err(Error::ReservationConflict { conflicts }) if !is_over => {
                    Seen::taken_by(&conflicts).wake(end)
                }
                Err(Error::Busy { .. }) if !is_over => Instant::now() + REST,
                Ok(tried) if !is_over && (around.is_in_vain)(&tried) => Instant::now() + REST,
                tried => return tried,
            },
        };
        place.note(known.let_go, wake);
        around.rest(&line, mark, wake.min(end)).await;
    }
}

impl Seen {
    /// Returns when to look again, if nothing is let go before.
    fn wake(self, end: Instant) -> Instant {
        match self {
            Self::Free => Instant::now(),
            Self::Taken { until_ms: None } => end,
            Self::Taken {
                until_ms: Some(until_ms),
            } => Instant::now() + Duration::from_millis(until_ms.unsigned_abs() + 1),
        }
    }
}

impl<T> Surroundings<T> {
    /// Returns the answer that the caller's key has already; asks until then if all are busy.
    async fn answer_given(&self, end: Instant) -> Result<Option<T>, Error> {
        loop {
            match (self.answered)().await {
                Err(Error::Busy { .. }) if Instant::now() < end && !*self.ending.borrow() => {
                    tokio::time::sleep(REST).await;
                }
                answered => return answered,
            }
        }
    }

    /// Rests until something was let go since, or until then.
    async fn rest(&mut self, line: &Line, since: Mark, until: Instant) {
        loop {
            tokio::select! {
                moved = self.head.changed() => {
                    if moved.is_err() {
                        return;
                    }
                    // Many changes in a moment are looked at together.
                    tokio::time::sleep(LOOK_EVERY).await;
                    let head = *self.head.borrow_and_update();
                    match line.last_let_go(since.of, head, &self.last_let_go).await {
                        Ok(now) if now.let_go <= since.known.let_go => {}
                        _ => return,
                    }
                }
                _ = self.ending.changed() => return,
                () = tokio::time::sleep_until(until) => return,
            }
        }
    }
}
