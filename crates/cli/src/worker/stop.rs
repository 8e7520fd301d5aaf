//! The end of a worker: the first signal lets its commands end, a second one ends at once.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::keeper::Order;
use super::keepers::Keepers;
use crate::door::runtime;
use crate::failure::Failure;

/// Exit code of a program that was interrupted.
pub(super) const INTERRUPTED: u8 = 130;

/// What stops a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stopped {
    /// SIGTERM.
    Told,
    /// SIGINT.
    Interrupted,
    /// None: what hinders one piece of work hinders all.
    Broken,
}

/// Whether the worker is to stop.
#[derive(Clone, Default)]
pub(super) struct Stop(Arc<(Mutex<Option<Stopped>>, Condvar)>);

impl Stop {
    /// Returns why, if it is to stop.
    pub(super) fn asked(&self) -> Option<Stopped> {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits, but no longer than until it is to stop.
    pub(super) fn wait(&self, length: Duration) {
        let (asked, changed) = &*self.0;
        let asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = changed.wait_timeout_while(asked, length, |asked| asked.is_none());
    }

    /// Asks the worker to stop; what runs may run on.
    pub(super) fn ask(&self, stopped: Stopped) {
        let (asked, changed) = &*self.0;
        *asked.lock().unwrap_or_else(PoisonError::into_inner) = Some(stopped);
        changed.notify_all();
    }

    /// Listens for signals on a thread of its own; `heard` is told of the first one.
    pub(super) fn listen(
        &self,
        keepers: Keepers,
        heard: impl FnOnce() + Send + 'static,
    ) -> Result<(), Failure> {
        let runtime = runtime()?;
        let signals = {
            let _inside = runtime.enter();
            Signals::new()
        };
        let mut signals =
            signals.map_err(|error| Failure::unusable(format!("no signals: {error}")))?;
        let stop = self.clone();
        std::thread::spawn(move || {
            stop.ask(runtime.block_on(signals.next()));
            // Whoever starts a keeper from now on sees that it is asked to stop.
            keepers.tell_all(Order::Terminate);
            heard();
            runtime.block_on(signals.next());
            // Its keepers notice, too, and leave nothing.
            keepers.tell_all(Order::Kill);
            std::process::exit(INTERRUPTED.into());
        });
        Ok(())
    }
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) -> Stopped {
        tokio::select! {
            _ = self.terminate.recv() => Stopped::Told,
            _ = self.interrupt.recv() => Stopped::Interrupted,
        }
    }
}
