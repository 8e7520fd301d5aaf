//! A run as it was: its events, folded as far as somebody asks.

use std::collections::{BTreeMap, BTreeSet};

use comity_domain::{
    AgentId, DispatchId, DispatchState, GateText, Outcome, Phase, RunId, RunState, Seq, Slug,
    Timestamp,
};

use super::event::RunCreated;
use super::table::Run;
use crate::error::{Error, Impossible};
use crate::event::pruned;
use crate::log::{Event, Recorded, table as log_table};
use crate::tx::Read;

/// Events that are read at a time: each may hold a whole prompt.
const PIECE: i64 = 50;

/// What the events of a run say of it, as far as they were read.
#[derive(Clone, Debug)]
pub(crate) struct Past {
    pub(crate) run: Run,
    pub(crate) skipped: BTreeMap<Phase, String>,
    pub(crate) at_work: BTreeSet<AgentId>,
    pub(crate) dispatches: BTreeMap<DispatchId, DispatchState>,
}

/// Folds the events of a run up to a place in the log; nothing if it was not there yet.
pub(crate) fn past(read: &mut impl Read, run: &Run, until: Seq) -> Result<Option<Past>, Error> {
    pruned::must_be_left_of_run(read, run.id, Seq::ZERO)?;
    let mut past: Option<Past> = None;
    let mut since = Seq::ZERO;
    loop {
        let page = log_table::of_run(read, run.id, since, until, PIECE)?;
        for recorded in &page {
            let event = read_event(recorded, run.id)?;
            match (&mut past, event) {
                (None, Event::RunCreated(created)) => {
                    past = Past::new(created, recorded.at, run.project.clone());
                }
                (Some(past), event) => past.take(&event, recorded.at),
                (None, _) => {
                    return Err(Error::internal(Impossible(
                        "a run has a past before it began",
                    )));
                }
            }
        }
        match page.last() {
            Some(last) => since = last.seq,
            None => return Ok(past),
        }
    }
}

fn read_event(recorded: &Recorded, run: RunId) -> Result<Event, Error> {
    let payload = recorded.payload.as_deref().unwrap_or_default();
    match Event::read(&recorded.kind, recorded.v, payload) {
        Some(Ok(event)) => Ok(event),
        _ => Err(Error::Damaged {
            what: format!("event {} of run {run} cannot be read", recorded.seq),
        }),
    }
}

impl Past {
    fn new(created: RunCreated, at: Timestamp, project: Slug) -> Option<Self> {
        Some(Self {
            run: Run {
                id: created.id,
                project_id: created.project,
                project,
                parent: created.parent,
                goal: created.goal,
                phase: created.phases.at(0)?.clone(),
                phases: created.phases,
                gates: GateText::new(&created.gates).ok()?,
                position: 0,
                state: RunState::Active,
                token_budget: created.token_budget,
                budget_enforced: created.budget_enforced,
                max_dispatches: created.max_dispatches,
                max_per_kind: created.max_per_kind,
                metadata: created.metadata,
                tokens: 0,
                created_by: created.by,
                created_at: at,
                ended_at: None,
                revision: 1,
            },
            skipped: BTreeMap::new(),
            at_work: BTreeSet::new(),
            dispatches: BTreeMap::new(),
        })
    }

    /// Takes one more event in.
    fn take(&mut self, event: &Event, at: Timestamp) {
        if self.take_dispatch(event) {
            return;
        }
        self.run.revision += 1;
        match event {
            Event::RunAdvanced(one) => self.run.moved(&one.moved, at),
            Event::GateOverridden(one) => self.run.moved(&one.moved, at),
            Event::PhaseSkipped(one) => {
                self.skipped.insert(one.phase.clone(), one.reason.clone());
            }
            Event::RunRolledBack(back) => {
                self.run.phase = back.to.clone();
                self.run.position = back.position;
                self.run.ended_at = None;
                if self.run.state != RunState::Paused {
                    self.run.state = RunState::Active;
                }
                self.skipped.retain(|phase, _| !back.skips.contains(phase));
            }
            Event::RunPaused(_) => self.run.state = RunState::Paused,
            Event::RunResumed(_) => self.run.state = RunState::Active,
            Event::RunCancelled(_) => self.run.ended(RunState::Cancelled, at),
            Event::RunFailed(_) => self.run.ended(RunState::Failed, at),
            Event::RunUpdated(one) => {
                self.run.goal.clone_from(&one.goal);
                self.run.token_budget = one.token_budget;
                self.run.max_dispatches = one.max_dispatches;
                self.run.metadata.clone_from(&one.metadata);
            }
            Event::RunAgentAdded(one) => {
                self.at_work.insert(one.agent);
            }
            Event::RunAgentFinished(one) => {
                self.at_work.remove(&one.agent);
            }
            // Leases that belong to it are no events of the run itself.
            Event::FilesReserved(_) | Event::LockAcquired(_) => self.run.revision -= 1,
            _ => {}
        }
    }

    /// Takes an event of one of its dispatches in, if it is one.
    fn take_dispatch(&mut self, event: &Event) -> bool {
        let (id, state) = match event {
            Event::DispatchCreated(one) => (one.id, DispatchState::Queued),
            Event::DispatchClaimed(one) => (one.which.id, DispatchState::Spawned),
            Event::DispatchStarted(one) => (one.0.id, DispatchState::Running),
            Event::DispatchReturned(one) => (one.which.id, DispatchState::Queued),
            Event::DispatchFinished(one) => match one.outcome {
                Outcome::Completed => (one.which.id, DispatchState::Completed),
                Outcome::Failed => (one.which.id, DispatchState::Failed),
            },
            Event::DispatchCancelled(one) => (one.which.id, DispatchState::Cancelled),
            Event::DispatchTimedOut(one) => (one.which.id, DispatchState::TimedOut),
            Event::DispatchExtended(_) => return true,
            Event::DispatchReported(one) => {
                self.run.tokens += one.tokens_added;
                return true;
            }
            _ => return false,
        };
        self.dispatches.insert(id, state);
        true
    }
}
