//! Dispatches: the states of handed-out work, and what leads from one to another.

use crate::words::words;

words! {
    /// Where a dispatch stands. The last four are final.
    DispatchState {
        /// It waits for somebody to claim it.
        Queued = "queued",
        /// Somebody claimed it and has not begun.
        Spawned = "spawned",
        /// Somebody works on it.
        Running = "running",
        /// It is done.
        Completed = "completed",
        /// It was tried in vain.
        Failed = "failed",
        /// Somebody gave it up.
        Cancelled = "cancelled",
        /// Its deadline passed.
        TimedOut = "timed_out",
    }
}

words! {
    /// What a worker says of its work.
    Outcome {
        /// It is done.
        Completed = "completed",
        /// It was tried in vain.
        Failed = "failed",
    }
}

/// What can happen to a dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Somebody claims it.
    Claim,
    /// Its claimant begins.
    Start,
    /// Its claimant was not heard of in time.
    LoseClaim,
    /// Its claimant is done, or gives up.
    Finish(Outcome),
    /// Somebody gives it up.
    Cancel,
    /// Its deadline passes.
    TimeOut,
}

impl DispatchState {
    /// Every state.
    pub const ALL: [Self; 7] = [
        Self::Queued,
        Self::Spawned,
        Self::Running,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
        Self::TimedOut,
    ];

    /// Returns the state after a step, if the step can be taken (H1).
    pub const fn after(self, step: Step) -> Option<Self> {
        match (self, step) {
            (Self::Queued, Step::Claim) => Some(Self::Spawned),
            (Self::Spawned, Step::Start) => Some(Self::Running),
            (Self::Spawned | Self::Running, Step::LoseClaim) => Some(Self::Queued),
            (Self::Running, Step::Finish(Outcome::Completed)) => Some(Self::Completed),
            (Self::Spawned | Self::Running, Step::Finish(Outcome::Failed)) => Some(Self::Failed),
            (Self::Queued | Self::Spawned | Self::Running, Step::Cancel) => Some(Self::Cancelled),
            (Self::Queued | Self::Spawned | Self::Running, Step::TimeOut) => Some(Self::TimedOut),
            _ => None,
        }
    }

    /// Tells whether nothing can happen to it any more.
    pub const fn is_final(self) -> bool {
        self.severity().is_some()
    }

    /// Tells whether somebody has it in hand.
    pub const fn is_claimed(self) -> bool {
        matches!(self, Self::Spawned | Self::Running)
    }

    /// Returns how bad an end is, from done to timed out; nothing for what has not ended.
    const fn severity(self) -> Option<u8> {
        match self {
            Self::Queued | Self::Spawned | Self::Running => None,
            Self::Completed => Some(0),
            Self::Failed => Some(1),
            Self::Cancelled => Some(2),
            Self::TimedOut => Some(3),
        }
    }

    /// Returns the worst end of several, in whatever order they came (H6).
    pub fn worst(states: impl IntoIterator<Item = Self>) -> Option<Self> {
        let ended = states.into_iter().filter(|state| state.is_final());
        ended.max_by_key(|state| state.severity())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use DispatchState::{Cancelled, Completed, Failed, Queued, Running, Spawned, TimedOut};

    const STEPS: [Step; 7] = [
        Step::Claim,
        Step::Start,
        Step::LoseClaim,
        Step::Finish(Outcome::Completed),
        Step::Finish(Outcome::Failed),
        Step::Cancel,
        Step::TimeOut,
    ];

    // H1
    #[test]
    fn only_these_edges_exist() {
        let mut edges = Vec::new();
        for from in DispatchState::ALL {
            let reached = STEPS.iter().filter_map(|step| from.after(*step));
            edges.extend(reached.map(|to| (from, to)));
        }
        let expected = [
            (Queued, Spawned),
            (Queued, Cancelled),
            (Queued, TimedOut),
            (Spawned, Running),
            (Spawned, Queued),
            (Spawned, Failed),
            (Spawned, Cancelled),
            (Spawned, TimedOut),
            (Running, Queued),
            (Running, Completed),
            (Running, Failed),
            (Running, Cancelled),
            (Running, TimedOut),
        ];
        assert_eq!(edges, expected);
    }

    // H3
    #[test]
    fn an_end_is_for_ever() {
        for end in [Completed, Failed, Cancelled, TimedOut] {
            assert!(end.is_final());
            assert!(
                STEPS.iter().all(|step| end.after(*step).is_none()),
                "{end:?}"
            );
        }
    }

    // H6
    #[test]
    fn a_group_ends_as_its_worst_whatever_the_order() {
        let ends = [Completed, Failed, Cancelled, TimedOut];
        for first in ends {
            for second in ends {
                let both = DispatchState::worst([first, second, Running]);
                assert_eq!(both, DispatchState::worst([second, Queued, first]));
                assert_eq!(
                    both.map(DispatchState::severity),
                    Some(first.severity().max(second.severity()))
                );
            }
        }
        assert_eq!(DispatchState::worst([Queued, Running]), None);
    }
}
