//! The line of those who wait for a lease: first come, first served, within this process.
//!
//! Nobody waits inside a transaction: a waiter tries its whole command again when something has
//! changed, and before it tries, those before it that want the same have tried.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use comity_domain::limits::WAITERS_MAX;
use comity_domain::{Pattern, ProjectId, Seq, Span};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::actor::{Actor, Party};
use crate::command::Command;
use crate::error::Error;
use crate::query::Query;
use crate::store::Row;
use crate::tx::{Read, Snapshot};

/// How long somebody waits for those before it to have tried, should one of them be stuck.
const TURN_MAX: Duration = Duration::from_millis(200);

/// How soon after a change somebody who waits looks again.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// A command whose caller may wait until others let go.
pub trait Patient: Command + Clone + Sync {
    /// Returns how long the caller wants to wait.
    fn patience(&self) -> Option<Span>;

    /// Returns what it wants, to tell who wants the same.
    fn claim(&self) -> Claim;
}

/// What somebody wants to hold.
#[derive(Clone, Debug)]
pub enum Claim {
    /// Files.
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

/// Everybody who waits, in the order they came.
#[derive(Clone)]
pub(crate) struct Line(Arc<Waiting>);

struct Waiting {
    places: Mutex<Places>,
    /// Counts whatever happens in the line.
    changed: watch::Sender<u64>,
}

#[derive(Default)]
struct Places {
    next: u64,
    taken: BTreeMap<u64, Place>,
}

struct Place {
    project: Option<ProjectId>,
    claim: Claim,
    /// When its last attempt began that has ended.
    tried: Option<Instant>,
    /// Since when it must have tried, for somebody behind it.
    called: Option<Instant>,
}

impl Default for Line {
    fn default() -> Self {
        Self(Arc::new(Waiting {
            places: Mutex::default(),
            changed: watch::Sender::new(0),
        }))
    }
}

/// Somebody's place; dropping it leaves the line.
struct Taken {
    line: Line,
    number: u64,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.line.lock().taken.remove(&self.number);
        self.line.tell();
    }
}

impl Line {
    fn join(&self, project: Option<ProjectId>, claim: Claim) -> Result<Taken, Error> {
        let mut places = self.lock();
        if places.taken.len() >= WAITERS_MAX {
            return Err(Error::Busy {
                reason: "too many wait for leases already".to_owned(),
            });
        }
        let number = places.next;
        places.next += 1;
        places.taken.insert(
            number,
            Place {
                project,
                claim,
                tried: None,
                called: None,
            },
        );
        Ok(Taken {
            line: self.clone(),
            number,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Places> {
        self.0.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self) {
        self.0.changed.send_modify(|count| *count += 1);
    }
}

impl Taken {
    /// Lets those before it that want the same try first.
    async fn turn(&self) {
        let since = Instant::now();
        let mut changed = self.line.0.changed.subscribe();
        if self.call(since) {
            return;
        }
        self.line.tell();
        let all_tried = async {
            while !self.call(since) {
                if changed.changed().await.is_err() {
                    return;
                }
            }
        };
        // One that is stuck must not keep everybody behind it.
        let _ = tokio::time::timeout(TURN_MAX, all_tried).await;
    }

    /// Calls those before it; tells whether all of them have tried since.
    fn call(&self, since: Instant) -> bool {
        let mut places = self.line.lock();
        let Some((project, claim)) = places
            .taken
            .get(&self.number)
            .map(|own| (own.project, own.claim.clone()))
        else {
            return true;
        };
        let mut all = true;
        for (_, before) in places.taken.range_mut(..self.number) {
            let same_project =
                before.project.is_none() || project.is_none() || before.project == project;
            let has_tried = before.tried.is_some_and(|tried| tried >= since);
            if same_project && !has_tried && before.claim.competes_with(&claim) {
                before.called = Some(since);
                all = false;
            }
        }
        all
    }

    /// Notes that an attempt that began then has ended.
    fn tried(&self, began: Instant) {
        if let Some(own) = self.line.lock().taken.get_mut(&self.number) {
            own.tried = Some(began);
        }
        self.line.tell();
    }

    /// Tells whether somebody behind waits for the next attempt.
    fn is_called(&self) -> bool {
        let places = self.line.lock();
        let own = places.taken.get(&self.number);
        own.is_some_and(|own| own.called > own.tried)
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
        Ok(snapshot.one(
            "select coalesce(max(ended_seq), 0) from reservation",
            &[],
            Row::take,
        )?)
    }
}

/// What a waiter needs of the kernel.
pub(crate) struct Surroundings<Try, Ask> {
    /// Tries the command once; whoever stops listening is not granted anything.
    pub(crate) attempt: Try,
    /// Asks for the last end of a lease.
    pub(crate) last_end: Ask,
    /// The log's end.
    pub(crate) head: watch::Receiver<Seq>,
    /// Turns true when nobody should wait any longer.
    pub(crate) ending: watch::Receiver<bool>,
}

/// Tries again whenever somebody lets go, until it is granted or the patience is at its end.
pub(crate) async fn wait_in<T, Try, Tried, Ask, Asked>(
    line: Line,
    project: Option<ProjectId>,
    claim: Claim,
    patience: Duration,
    mut around: Surroundings<Try, Ask>,
) -> Result<T, Error>
where
    Try: Fn() -> Tried,
    Tried: Future<Output = Result<T, Error>>,
    Ask: Fn() -> Asked,
    Asked: Future<Output = Result<Seq, Error>>,
{
    let end = Instant::now() + patience;
    let place = line.join(project, claim)?;
    loop {
        let ended = (around.last_end)().await?;
        place.turn().await;
        let began = Instant::now();
        let tried = (around.attempt)().await;
        place.tried(began);
        let conflicts = match tried {
            Err(Error::ReservationConflict { conflicts })
                if Instant::now() < end && !*around.ending.borrow() =>
            {
                conflicts
            }
            tried => return tried,
        };
        // A lease that expires does so without an event: whoever waits counts along.
        let soonest = conflicts.iter().map(|one| one.ttl_remaining_ms).min();
        let soonest = Duration::from_millis(soonest.unwrap_or(0).unsigned_abs() + 1);
        let wake = (Instant::now() + soonest).min(end);
        let mut changed = line.0.changed.subscribe();
        loop {
            if place.is_called() {
                break;
            }
            tokio::select! {
                moved = around.head.changed() => {
                    if moved.is_err() {
                        return Err(Error::ReservationConflict { conflicts });
                    }
                    tokio::time::sleep(LOOK_EVERY).await;
                    around.head.borrow_and_update();
                    if (around.last_end)().await? > ended {
                        break;
                    }
                }
                _ = changed.changed() => {}
                _ = around.ending.changed() => {
                    return Err(Error::ReservationConflict { conflicts });
                }
                () = tokio::time::sleep_until(wake) => break,
            }
        }
    }
}
