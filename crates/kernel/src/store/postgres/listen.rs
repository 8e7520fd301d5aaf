//! Hears of commits by other servers.
//!
//! A notification only says "look": the head is read from the table, after every notification,
//! after every connect (what was told in between is lost) and once a second in any case.

use std::convert::Infallible;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use comity_domain::Seq;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::connection::{Link, runtime};
use super::fault::classify;
use super::settings::Role;
use super::target::PostgresTarget;
use crate::store::StoreError;

/// How long a lost notification can go unnoticed.
const POLL: Duration = Duration::from_secs(1);

/// How long the server may take to answer.
const ANSWER_MAX: Duration = Duration::from_secs(10);

const BACK_OFF_MIN: Duration = Duration::from_millis(100);
const BACK_OFF_MAX: Duration = Duration::from_secs(5);

/// The thread that listens; it ends with this handle.
pub(crate) struct Listener {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What is told the head; it must not wait.
type Hear = Box<dyn Fn(Seq) + Send>;

impl Listener {
    /// Starts to listen; `hear` gets the head whenever it may have moved.
    pub(crate) fn start(target: &PostgresTarget, hear: Hear) -> Result<Self, StoreError> {
        let target = target.clone();
        let runtime = runtime()?;
        let (stop, stopped) = oneshot::channel();
        let thread = Builder::new()
            .name("comity-listen".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        // Told to stop, or the handle is gone: either ends it.
                        _ = stopped => {}
                        () = listen(&target, &hear) => {}
                    }
                });
                // Not a plain drop: that would wait for a look-up of the host's name.
                runtime.shutdown_background();
            })
            .map_err(|error| StoreError::Other(Arc::new(error)))?;
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Stops and waits for the thread's end.
    #[cfg(test)]
    pub(crate) fn stop(self) {
        drop(self);
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // Dropping the sender is the signal.
        drop(self.stop.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that listens for other servers panicked");
        }
    }
}

/// Listens for ever, over any number of connections.
async fn listen(target: &PostgresTarget, hear: &Hear) {
    let mut back_off = BACK_OFF_MIN;
    loop {
        let mut has_heard = false;
        let Err(error) = follow(target, hear, &mut has_heard).await;
        if has_heard {
            back_off = BACK_OFF_MIN;
        }
        // Once per loss, not once per attempt.
        if back_off == BACK_OFF_MIN {
            tracing::warn!(
                store.target = %target,
                error = &error as &dyn std::error::Error,
                "commits by other servers cannot be heard, connecting again"
            );
        }
        tokio::time::sleep(back_off).await;
        back_off = (back_off * 2).min(BACK_OFF_MAX);
    }
}

/// Follows the head over one connection, until that fails.
async fn follow(
    target: &PostgresTarget,
    hear: &Hear,
    has_heard: &mut bool,
) -> Result<Infallible, StoreError> {
    let link = Link::open(target, Role::Listener).await?;
    let listen = format!("listen \"{}\"", target.channel());
    answered(link.client.batch_execute(&listen)).await?;
    let read_head = answered(link.client.prepare("select seq from log_head")).await?;
    loop {
        // Read after LISTEN, so that no commit lies between.
        let row = answered(link.client.query_one(&read_head, &[])).await?;
        hear(row.try_get(0).map(Seq::new).map_err(classify)?);
        *has_heard = true;
        // Whether woken or not: the next look tells.
        let _: Result<(), _> = timeout(POLL, link.woken.notified()).await;
    }
}

async fn answered<T>(
    request: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, StoreError> {
    let answer = timeout(ANSWER_MAX, request).await;
    let answer = answer.map_err(|elapsed| StoreError::Lost(Arc::new(elapsed)))?;
    answer.map_err(classify)
}
