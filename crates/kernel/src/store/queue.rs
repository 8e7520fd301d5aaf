//! What waits for the writer: bounded, and fair between callers (B6).
//!
//! Each credential has a line of its own and the writer takes one command from each in turn, so a
//! caller with ten thousand commands delays another by the others' turns, not by its own line.

use std::collections::{HashMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::actor::Credential;

/// The queue before the writer.
pub(crate) struct Queue<J> {
    state: Mutex<State<J>>,
    changed: Condvar,
    max: usize,
    per_caller_max: usize,
}

struct State<J> {
    lines: HashMap<Credential, VecDeque<J>>,
    /// The callers that have something waiting, in the order of their turns.
    turns: VecDeque<Credential>,
    waiting: usize,
    open: bool,
}

/// What the writer finds when it looks for work.
pub(crate) enum Next<J> {
    /// The next command.
    Job(J),
    /// Nothing came for a while.
    Idle,
    /// The queue is closed and empty.
    Stopped,
}

/// Why a command was not taken into the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// Too many commands wait.
    Queue,
    /// Too many commands of this caller wait.
    Caller,
    /// The kernel stops.
    Closed,
}

impl<J> Queue<J> {
    pub(crate) fn new(max: usize, per_caller_max: usize) -> Self {
        Self {
            state: Mutex::new(State {
                lines: HashMap::new(),
                turns: VecDeque::new(),
                waiting: 0,
                open: true,
            }),
            changed: Condvar::new(),
            max,
            per_caller_max,
        }
    }

    /// Counts what waits.
    pub(crate) fn waiting(&self) -> usize {
        self.lock().waiting
    }

    /// Puts a command at the end of its caller's line, or refuses at once.
    pub(crate) fn push(&self, caller: Credential, job: J) -> Result<(), (Full, J)> {
        let mut state = self.lock();
        if !state.open {
            return Err((Full::Closed, job));
        }
        if state.waiting >= self.max {
            return Err((Full::Queue, job));
        }
        let line = state.lines.entry(caller).or_default();
        if line.len() >= self.per_caller_max {
            return Err((Full::Caller, job));
        }
        let first = line.is_empty();
        line.push_back(job);
        if first {
            state.turns.push_back(caller);
        }
        state.waiting += 1;
        drop(state);
        self.changed.notify_one();
        Ok(())
    }

    /// Takes the next command if one waits.
    pub(crate) fn try_next(&self) -> Option<J> {
        self.lock().take()
    }

    /// Takes the next command, waiting at most `patience` for one.
    pub(crate) fn next(&self, patience: Duration) -> Next<J> {
        let state = self.lock();
        let idle = |state: &mut State<J>| state.waiting == 0 && state.open;
        let (mut state, _) = self
            .changed
            .wait_timeout_while(state, patience, idle)
            .unwrap_or_else(PoisonError::into_inner);
        match state.take() {
            Some(job) => Next::Job(job),
            None if state.open => Next::Idle,
            None => Next::Stopped,
        }
    }

    /// Takes nothing more in; what waits is still handed out.
    pub(crate) fn close(&self) {
        self.lock().open = false;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<J>> {
        // A panic while holding the lock cannot leave the queue half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<J> State<J> {
    fn take(&mut self) -> Option<J> {
        let caller = self.turns.pop_front()?;
        let line = self.lines.get_mut(&caller)?;
        let job = line.pop_front()?;
        if line.is_empty() {
            self.lines.remove(&caller);
        } else {
            self.turns.push_back(caller);
        }
        self.waiting -= 1;
        Some(job)
    }
}

#[cfg(test)]
mod tests {
    use comity_domain::TokenId;

    use super::*;

    const A: Credential = Credential::Token(TokenId::new(1));
    const B: Credential = Credential::Token(TokenId::new(2));

    fn drain(queue: &Queue<i32>) -> Vec<i32> {
        std::iter::from_fn(|| queue.try_next()).collect()
    }

    // B6
    #[test]
    fn callers_take_turns_and_each_keeps_its_order() {
        let queue = Queue::new(100, 100);
        for job in 1..=4 {
            queue.push(A, job).unwrap();
        }
        queue.push(B, 10).unwrap();
        queue.push(B, 11).unwrap();
        assert_eq!(drain(&queue), [1, 10, 2, 11, 3, 4]);
    }

    // B6
    #[test]
    fn a_full_queue_refuses_at_once_and_keeps_a_place_for_others() {
        let queue = Queue::new(3, 2);
        queue.push(A, 1).unwrap();
        queue.push(A, 2).unwrap();
        assert_eq!(queue.push(A, 3), Err((Full::Caller, 3)));
        queue.push(B, 4).unwrap();
        assert_eq!(queue.push(B, 5), Err((Full::Queue, 5)));
        assert_eq!(drain(&queue), [1, 4, 2]);
        queue.push(A, 6).unwrap();
    }

    // B8: stop is a signal, not an entry: whatever waits is handed out before it is seen
    #[test]
    fn a_closed_queue_hands_out_what_waits_and_then_stops() {
        for waiting in 0..=130 {
            let queue = Queue::new(200, 200);
            for job in 0..waiting {
                queue.push(A, job).unwrap();
            }
            queue.close();
            assert_eq!(queue.push(A, 999), Err((Full::Closed, 999)));
            for job in 0..waiting {
                assert!(matches!(queue.next(Duration::ZERO), Next::Job(next) if next == job));
            }
            assert!(matches!(queue.next(Duration::from_mins(1)), Next::Stopped));
        }
    }
}
