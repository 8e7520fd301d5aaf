//! Named places in product code where a test may pause, delay, fail or kill.
//!
//! Without the feature `testing` a [`Failpoints`] is empty and hitting one compiles to
//! nothing. It is injected like a clock, so that tests in one process do not meet.

use crate::store::StoreError;

#[cfg(not(feature = "testing"))]
/// No failpoints: this is a product build.
#[derive(Clone, Default)]
pub struct Failpoints;

#[cfg(not(feature = "testing"))]
impl Failpoints {
    /// Takes nothing from the environment in a product build.
    pub fn from_environment() -> Self {
        Self
    }

    /// Does nothing in a product build.
    #[inline]
    pub fn hit(&self, _name: &'static str) -> Result<(), StoreError> {
        Ok(())
    }
}

#[cfg(feature = "testing")]
pub use testing::{Action, Failpoints, Gate};

#[cfg(feature = "testing")]
mod testing {
    use std::collections::HashMap;
    use std::sync::{Arc, Condvar, Mutex, PoisonError};
    use std::time::Duration;

    use super::StoreError;

    /// What happens at a failpoint.
    #[derive(Clone)]
    pub enum Action {
        /// Waits until the gate is opened.
        Pause(Gate),
        /// Waits this long.
        Delay(Duration),
        /// Fails with this error.
        Fail(StoreError),
        /// Panics.
        Panic,
        /// Ends the process as SIGKILL does.
        Kill,
    }

    /// Longer than anybody takes to come to a gate.
    const LONGEST: Duration = Duration::from_mins(2);

    /// A pause that a test holds: it learns that somebody arrived, and lets go.
    #[derive(Clone, Default)]
    pub struct Gate(Arc<(Mutex<(usize, bool)>, Condvar)>);

    impl Gate {
        /// Waits until somebody stands at the gate; that nobody comes is a failure, not a hang.
        pub fn wait_until_hit(&self) {
            let (state, changed) = &*self.0;
            let state = state.lock().unwrap_or_else(PoisonError::into_inner);
            let (state, waited) = changed
                .wait_timeout_while(state, LONGEST, |(arrived, _)| *arrived == 0)
                .unwrap_or_else(PoisonError::into_inner);
            drop(state);
            assert!(!waited.timed_out(), "nobody came to the gate");
        }

        /// Lets everybody pass, now and later.
        pub fn open(&self) {
            let (state, changed) = &*self.0;
            state.lock().unwrap_or_else(PoisonError::into_inner).1 = true;
            changed.notify_all();
        }

        fn pass(&self) {
            let (state, changed) = &*self.0;
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            state.0 += 1;
            changed.notify_all();
            drop(changed.wait_while(state, |(_, open)| !*open));
        }
    }

    struct Armed {
        action: Action,
        skip: u64,
    }

    /// The failpoints of one kernel.
    #[derive(Clone, Default)]
    pub struct Failpoints(Arc<Mutex<HashMap<String, Armed>>>);

    impl Failpoints {
        /// Reads `COMITY_FAILPOINTS=name=kill@3;other=delay:50`; `@3` means at the third hit.
        pub fn from_environment() -> Self {
            let points = Self::default();
            let wanted = std::env::var("COMITY_FAILPOINTS").unwrap_or_default();
            for entry in wanted.split(';').filter(|entry| !entry.is_empty()) {
                if let Some((name, action, nth)) = parse(entry) {
                    points.set_at(name, action, nth);
                }
            }
            points
        }

        /// Arms a failpoint from its next hit on.
        pub fn set(&self, name: &str, action: Action) {
            self.set_at(name, action, 1);
        }

        /// Arms a failpoint from its `nth` hit on.
        pub fn set_at(&self, name: &str, action: Action, nth: u64) {
            let skip = nth.saturating_sub(1);
            self.armed().insert(name.to_owned(), Armed { action, skip });
        }

        /// Disarms a failpoint.
        pub fn clear(&self, name: &str) {
            self.armed().remove(name);
        }

        /// Pauses whoever reaches `name`, until the returned gate is opened.
        pub fn pause(&self, name: &str) -> Gate {
            let gate = Gate::default();
            self.set(name, Action::Pause(gate.clone()));
            gate
        }

        /// Does what the test wants here.
        pub fn hit(&self, name: &'static str) -> Result<(), StoreError> {
            let action = match self.armed().get_mut(name) {
                Some(armed) if armed.skip == 0 => armed.action.clone(),
                Some(armed) => {
                    armed.skip -= 1;
                    return Ok(());
                }
                None => return Ok(()),
            };
            perform(action)
        }

        fn armed(&self) -> std::sync::MutexGuard<'_, HashMap<String, Armed>> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }

    #[expect(clippy::panic, reason = "panicking is what the test asked for")]
    fn perform(action: Action) -> Result<(), StoreError> {
        match action {
            Action::Pause(gate) => gate.pass(),
            Action::Delay(length) => std::thread::sleep(length),
            Action::Fail(error) => return Err(error),
            Action::Panic => panic!("failpoint"),
            Action::Kill => {
                let own = rustix::process::getpid();
                let _ = rustix::process::kill_process(own, rustix::process::Signal::KILL);
                // The signal is on its way; nothing may happen before it arrives.
                loop {
                    std::thread::park();
                }
            }
        }
        Ok(())
    }

    fn parse(entry: &str) -> Option<(&str, Action, u64)> {
        let (name, action) = entry.split_once('=')?;
        let (action, nth) = action.split_once('@').unwrap_or((action, "1"));
        let action = match action.split_once(':').unwrap_or((action, "")) {
            ("kill", _) => Action::Kill,
            ("panic", _) => Action::Panic,
            ("delay", ms) => Action::Delay(Duration::from_millis(ms.parse().ok()?)),
            _ => return None,
        };
        Some((name, action, nth.parse().ok()?))
    }
}
