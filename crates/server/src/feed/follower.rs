//! Somebody who follows the log: first from its place in it, then live.

use std::sync::Arc;
use std::time::Duration;

use comity_domain::Seq;
use comity_domain::limits::FEED_EVENTS_MAX;
use comity_kernel::event::{ReadSlice, Slice, Told, Watch};
use comity_kernel::{Actor, AsOf, Error, Kernel, Ticket};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::time::Instant;

use super::fed::{Fed, Seen};
use super::hub::{End, Hub, Seat, Signals};

/// Bytes that are told at a time.
const BATCH_BYTES_MAX: usize = 64 * 1_024;
/// How long a busy database is left alone, and how often.
const REST: Duration = Duration::from_millis(250);
const RESTS_MAX: u32 = 60;
/// How often a client that takes nothing is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// One feed: it never tells anything twice, out of order, or that its watch does not show.
pub(crate) struct Follower {
    signals: Signals,
    follow: Follow,
    _seat: Seat,
}

/// Where a feed stands.
struct Follow {
    kernel: Arc<Kernel>,
    hub: Arc<Hub>,
    actor: Actor,
    watch: Arc<Watch>,
    /// Everything up to here was told, or is not to be seen.
    through: Seq,
    live: broadcast::Receiver<Arc<Fed>>,
    /// Whether the log holds something that the hub did not tell.
    behind: bool,
    /// The page that was asked for.
    asked: Option<Ticket<AsOf<Slice>>>,
    /// How often in a row the database was busy.
    rests: u32,
    rest_until: Instant,
}

impl Follower {
    /// Follows from behind `since`; the log is read with the caller's own credential.
    pub(super) fn new(
        kernel: &Arc<Kernel>,
        hub: &Arc<Hub>,
        actor: Actor,
        watch: Watch,
        since: Seq,
    ) -> Result<Self, Error> {
        // Listening comes first, reading the log after it: in between nothing is missed.
        let live = hub.listen();
        let (seat, signals) = hub.join(&actor)?;
        let follow = Follow {
            kernel: Arc::clone(kernel),
            hub: Arc::clone(hub),
            actor,
            watch: Arc::new(watch),
            through: since,
            live,
            behind: true,
            asked: None,
            rests: 0,
            rest_until: Instant::now(),
        };
        Ok(Self {
            signals,
            follow,
            _seat: seat,
        })
    }

    /// Returns up to where everything was told that is to be seen.
    pub(super) const fn through(&self) -> Seq {
        self.follow.through
    }

    /// Starts again from behind another place.
    pub(super) fn restart(&mut self, since: Seq) {
        self.follow.through = since;
        self.follow.behind = true;
        self.follow.asked = None;
    }

    /// Waits for what comes next; dropping the wait loses nothing.
    pub(super) async fn next(&mut self) -> Result<Vec<Told>, End> {
        let Self {
            signals, follow, ..
        } = self;
        tokio::select! {
            biased;
            end = signals.end() => Err(end),
            told = follow.next() => told,
        }
    }

    /// Does something for the client that may take long, but not longer than the patience, and not
    /// while more comes than is kept.
    pub(super) async fn within<T, E>(
        &mut self,
        patience: Duration,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, End> {
        let Self {
            signals, follow, ..
        } = self;
        tokio::select! {
            biased;
            done = work => done.map_err(|_| End::Gone),
            end = signals.end() => Err(end),
            () = tokio::time::sleep(patience) => Err(End::Slow),
            () = follow.overrun() => Err(End::Slow),
        }
    }
}

impl Follow {
    async fn next(&mut self) -> Result<Vec<Told>, End> {
        loop {
            let told = if self.behind {
                self.read_log().await?
            } else {
                self.hear().await.map_err(|error| failed(&error))?
            };
            if !told.is_empty() {
                return Ok(told);
            }
        }
    }

    /// Reads the next page of the log.
    async fn read_log(&mut self) -> Result<Vec<Told>, End> {
        tokio::time::sleep_until(self.rest_until).await;
        let asked = if let Some(asked) = &mut self.asked {
            asked
        } else {
            // What comes from now on is heard; what is there already, the page shows.
            self.live = self.hub.listen();
            let query = ReadSlice {
                watch: Arc::clone(&self.watch),
                since: self.through,
            };
            let asked = self.kernel.query(self.actor.clone(), query);
            self.asked.insert(asked)
        };
        let answered = asked.await;
        self.asked = None;
        match answered {
            Ok(read) => {
                self.rests = 0;
                self.through = read.answer.through;
                self.behind = read.answer.more;
                Ok(read.answer.told)
            }
            Err(Error::Unauthorized) => Err(End::Revoked),
            Err(Error::Pruned { oldest_seq }) => Err(End::Pruned(oldest_seq)),
            Err(Error::Busy { .. }) if self.rests < RESTS_MAX => {
                self.rest_until = Instant::now() + REST;
                self.rests += 1;
                Ok(Vec::new())
            }
            Err(error) => Err(failed(&error)),
        }
    }

    /// Listens to what is new.
    async fn hear(&mut self) -> Result<Vec<Told>, Error> {
        let (mut told, mut bytes) = (Vec::new(), 0);
        let mut fed = match self.live.recv().await {
            Ok(fed) => fed,
            Err(RecvError::Lagged(_) | RecvError::Closed) => {
                self.behind = true;
                return Ok(told);
            }
        };
        // From here on nothing waits: what was heard is not lost.
        loop {
            if let Some(new) = self.take(&fed)? {
                bytes += new.json.len();
                told.push(new);
            }
            if self.behind || bytes >= BATCH_BYTES_MAX {
                return Ok(told);
            }
            fed = match self.live.try_recv() {
                Ok(fed) => fed,
                Err(TryRecvError::Empty | TryRecvError::Closed) => return Ok(told),
                Err(TryRecvError::Lagged(_)) => {
                    self.behind = true;
                    return Ok(told);
                }
            };
        }
    }

    /// Takes what was heard if it is the very next; a gap is filled from the log.
    fn take(&mut self, fed: &Fed) -> Result<Option<Told>, Error> {
        if fed.seq() <= self.through {
            return Ok(None);
        }
        if fed.seq() > self.through.next() {
            self.behind = true;
            return Ok(None);
        }
        let told = match fed.tell(&self.watch)? {
            Seen::Nothing => None,
            Seen::InTheLog => {
                self.behind = true;
                return Ok(None);
            }
            Seen::Told(told) => Some(told),
        };
        self.through = fed.seq();
        Ok(told)
    }

    /// Waits until more was told than is kept. Who still reads the log has time.
    async fn overrun(&self) {
        while self.behind || self.live.len() < FEED_EVENTS_MAX {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

fn failed(error: &Error) -> End {
    tracing::warn!(error = %error, "a feed ends: the log cannot be read");
    End::Failed
}
