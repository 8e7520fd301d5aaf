//! Where new events are told, and who listens.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use comity_domain::limits::{FEED_EVENTS_MAX, FEEDS_PER_CREDENTIAL_MAX, FEEDS_PER_OPERATOR_MAX};
use comity_domain::{Seq, TokenId};
use comity_kernel::actor::Credential;
use comity_kernel::{Actor, Error};
use tokio::sync::{broadcast, watch};

use super::fed::Fed;

/// How long somebody with too many feeds is asked to wait.
const RETRY_MS: u64 = 1_000;

/// The feeds of a server.
pub(crate) struct Hub {
    live: broadcast::Sender<Arc<Fed>>,
    circles: Mutex<HashMap<Credential, Circle>>,
    /// How many feeds are open.
    open: watch::Sender<usize>,
    /// Turns true when every feed must end.
    ending: watch::Sender<bool>,
}

/// The feeds of one credential.
struct Circle {
    open: usize,
    /// Turns true when the credential is good no more.
    revoked: watch::Sender<bool>,
}

/// A feed's place among those of its credential, until it is dropped.
pub(super) struct Seat {
    hub: Arc<Hub>,
    credential: Credential,
}

/// What ends a feed from outside.
pub(super) struct Signals {
    ending: watch::Receiver<bool>,
    revoked: watch::Receiver<bool>,
}

/// Why a feed ends.
#[derive(Debug)]
pub(super) enum End {
    /// The server stops.
    Stopped,
    /// The credential is good no more.
    Revoked,
    /// The client takes too little.
    Slow,
    /// The client is gone.
    Gone,
    /// What comes next is in the log no more; this is the oldest event left.
    Pruned(Seq),
    /// The log cannot be read.
    Failed,
}

impl Default for Hub {
    fn default() -> Self {
        Self {
            live: broadcast::Sender::new(FEED_EVENTS_MAX),
            circles: Mutex::default(),
            open: watch::Sender::new(0),
            ending: watch::Sender::new(false),
        }
    }
}

impl Hub {
    /// Listens to what is told from now on.
    pub(super) fn listen(&self) -> broadcast::Receiver<Arc<Fed>> {
        self.live.subscribe()
    }

    /// Tells whether anybody listens.
    pub(super) fn has_listeners(&self) -> bool {
        self.live.receiver_count() > 0
    }

    /// Tells everybody who listens.
    pub(super) fn tell(&self, fed: Arc<Fed>) {
        // Nobody may be there any more.
        let _ = self.live.send(fed);
    }

    /// Counts the open feeds.
    pub(crate) fn open(&self) -> usize {
        *self.open.borrow()
    }

    /// Takes a place for a feed, if the credential has one left (S24).
    pub(super) fn join(self: &Arc<Self>, actor: &Actor) -> Result<(Seat, Signals), Error> {
        let most = match actor {
            Actor::Operator { .. } => FEEDS_PER_OPERATOR_MAX,
            Actor::Agent { .. } | Actor::Observer { .. } | Actor::System => {
                FEEDS_PER_CREDENTIAL_MAX
            }
        };
        let credential = actor.credential();
        let mut circles = self.circles();
        let circle = circles.entry(credential).or_insert_with(|| Circle {
            open: 0,
            revoked: watch::Sender::new(false),
        });
        if circle.open >= most {
            return Err(Error::RateLimited {
                who: format!("{actor} has {most} feeds open and"),
                retry_after_ms: RETRY_MS,
            });
        }
        circle.open += 1;
        self.open.send_modify(|open| *open += 1);
        let signals = Signals {
            ending: self.ending.subscribe(),
            revoked: circle.revoked.subscribe(),
        };
        let seat = Seat {
            hub: Arc::clone(self),
            credential,
        };
        Ok((seat, signals))
    }

    /// Ends every feed of a token (E5).
    pub(super) fn revoke(&self, token: TokenId) {
        if let Some(circle) = self.circles().get(&Credential::Token(token)) {
            circle.revoked.send_replace(true);
        }
    }

    /// Ends every feed, now and later.
    pub(crate) fn end(&self) {
        self.ending.send_replace(true);
    }

    /// Waits until the last feed has ended.
    pub(crate) async fn ended(&self) {
        // It cannot fail: the sender is here.
        let _ = self.open.subscribe().wait_for(|open| *open == 0).await;
    }

    fn circles(&self) -> MutexGuard<'_, HashMap<Credential, Circle>> {
        self.circles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut circles = self.hub.circles();
        if let Some(circle) = circles.get_mut(&self.credential) {
            circle.open -= 1;
            if circle.open == 0 {
                circles.remove(&self.credential);
            }
        }
        self.hub.open.send_modify(|open| *open -= 1);
    }
}

impl Signals {
    /// Waits until the feed must end.
    pub(super) async fn end(&mut self) -> End {
        tokio::select! {
            _ = self.revoked.wait_for(|revoked| *revoked) => End::Revoked,
            _ = self.ending.wait_for(|ending| *ending) => End::Stopped,
        }
    }
}
