//! Follows the log's end where others write it too: LISTEN/NOTIFY, or a poll of the head.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use comity_domain::Seq;
use tokio::sync::watch;

use crate::error::Error;
use crate::kernel::READ_MAX;
use crate::options::{Database, Options, Sharing};
use crate::store::postgres::Listener;
use crate::store::{ReadEngine, StoreError};

/// How often the head of a file that other processes write is looked at.
const POLL: Duration = Duration::from_millis(100);

/// A thread that notices what others commit; dropping it ends it.
pub(crate) enum Follower {
    /// Looks at the head of a shared file.
    Poll(#[expect(dead_code, reason = "it lives and ends with its owner")] Poll),
    /// Listens to the database server.
    Listen(#[expect(dead_code, reason = "it lives and ends with its owner")] Listener),
}

impl Follower {
    /// Starts what the database needs; nothing where this process writes alone.
    pub(crate) fn start(
        options: &Options,
        head: Arc<watch::Sender<Seq>>,
    ) -> Result<Option<Self>, Error> {
        match (&options.database, options.sharing) {
            (Database::Sqlite(_), Sharing::Alone) => Ok(None),
            (Database::Sqlite(file), Sharing::Shared) => {
                let file = file.clone();
                let open = move || file.open_reader(READ_MAX);
                Ok(Some(Self::Poll(Poll::start(open, head)?)))
            }
            (Database::Postgres(target), _) => {
                let told = Box::new(move |seq| publish(&head, seq));
                Ok(Some(Self::Listen(Listener::start(target, told)?)))
            }
        }
    }
}

/// Publishes a head that somebody else moved; it never goes back.
pub(crate) fn publish(head: &watch::Sender<Seq>, seq: Seq) {
    head.send_if_modified(|head| {
        let moved = *head < seq;
        *head = seq.max(*head);
        moved
    });
}

/// The polling thread.
pub(crate) struct Poll {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Poll {
    /// The connection is opened at the first look: a command that is done before needs none.
    fn start<E: ReadEngine>(
        open: impl Fn() -> Result<E, StoreError> + Send + 'static,
        head: Arc<watch::Sender<Seq>>,
    ) -> Result<Self, Error> {
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("follower".to_owned())
            .spawn(move || {
                let mut engine = None;
                loop {
                    let (lock, changed) = &*stopped;
                    let state = lock.lock().unwrap_or_else(PoisonError::into_inner);
                    let (state, _) = changed
                        .wait_timeout_while(state, POLL, |stopped| !*stopped)
                        .unwrap_or_else(PoisonError::into_inner);
                    if *state {
                        return;
                    }
                    drop(state);
                    // A failed look is repeated; whoever reads the log is told of lasting trouble.
                    engine = engine.or_else(|| open().ok());
                    if let Some(engine) = &mut engine
                        && let Ok(seen) = engine.begin()
                    {
                        engine.end();
                        publish(&head, seen.seq);
                    }
                }
            })
            .map_err(|error| Error::Unusable {
                what: format!("a thread cannot be started: {error}"),
            })?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Poll {
    fn drop(&mut self) {
        let (lock, changed) = &*self.stop;
        *lock.lock().unwrap_or_else(PoisonError::into_inner) = true;
        changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // A follower that panicked has nothing to hand over.
            let _ = thread.join();
        }
    }
}
