//! A run as its page shows it: how it stood after an event, and what had happened last.
//!
//! All of it is read from events up to that one, and the cost is the same however long the run is:
//! the newest event of each kind that steers it says how it stood.

use std::collections::BTreeMap;

use comity_domain::{AgentId, Chain, Phase, ProjectId, RunId, RunState, Seq, Timestamp};

use crate::gate::Examined;
use crate::log::{Event, Recorded, table as log_table};
use crate::run::event::RunCreated;
use crate::run::tell::tell;
use crate::store::StoreError;
use crate::tx::Read;

/// Events that a run's page shows.
pub const RUN_EVENTS_SHOWN: i64 = 200;
/// Events of a run that are counted; a run that has more has many.
pub const RUN_EVENTS_COUNTED: i64 = 10_000;
/// Characters of a text that are shown.
const TEXT_CHARS: usize = 2_000;
/// Failed checks of a gate that are shown.
const CHECKS_SHOWN: usize = 64;

/// A run as its page shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunPage {
    /// How it stood.
    pub run: RunThen,
    /// Its last event then.
    pub through: Seq,
    /// How many events it had, counted up to [`RUN_EVENTS_COUNTED`].
    pub events: i64,
    /// The last of them, in order.
    pub last: Vec<Told>,
}

/// A run as it stood after an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunThen {
    /// Its number.
    pub id: RunId,
    /// The project.
    pub project: ProjectId,
    /// The run it is a part of.
    pub parent: Option<RunId>,
    /// What it is for.
    pub goal: String,
    /// Its phases in their order.
    pub phases: Chain,
    /// The phase it is in.
    pub phase: Phase,
    /// Where it stands.
    pub state: RunState,
    /// How many tokens it and everything below it may use.
    pub token_budget: Option<i64>,
    /// Whether work is handed out no more once they are used.
    pub budget_enforced: bool,
    /// How many dispatches of it and everything below it may be in hand at a time.
    pub max_dispatches: Option<i64>,
    /// The same for kinds of agent.
    pub max_per_kind: BTreeMap<String, i64>,
    /// Who created it; nobody is the operator.
    pub by: Option<AgentId>,
    /// When it was created.
    pub created_at: Timestamp,
}

/// One thing that happened to a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// Its place in the log.
    pub seq: Seq,
    /// When.
    pub at: Timestamp,
    /// Who did it, as the log names them.
    pub actor: String,
    /// The first 2,000 characters of what happened.
    pub text: String,
    /// How many characters are left out.
    pub more: usize,
    /// The checks that failed, where a gate refused or was overridden.
    pub failed: Vec<String>,
}

impl RunPage {
    /// Reads the page of a run as it was after an event; nothing of a run that nothing is known of.
    pub(super) fn read(
        read: &mut impl Read,
        run: RunId,
        through: Seq,
    ) -> Result<Option<Self>, StoreError> {
        let Some(then) = RunThen::read(read, run, through)? else {
            return Ok(None);
        };
        let events = log_table::count_of_run(read, run, through, RUN_EVENTS_COUNTED)?;
        let last = log_table::last_of_run(read, run, through, RUN_EVENTS_SHOWN, Told::of)?;
        Ok(Some(Self {
            run: then,
            through,
            events,
            last,
        }))
    }

    /// Returns every agent it names.
    pub(super) fn agents(&self) -> impl Iterator<Item = AgentId> {
        let actors = self.last.iter().filter_map(Told::agent);
        actors.chain(self.run.by)
    }
}

impl RunThen {
    /// Reads how a run stood after an event; nothing if it had not begun.
    pub(super) fn read(
        read: &mut impl Read,
        run: RunId,
        until: Seq,
    ) -> Result<Option<Self>, StoreError> {
        let mut newest = BTreeMap::new();
        for kind in log_table::STEERING {
            let recorded = log_table::newest_steering(read, run, kind, until)?;
            let event = recorded.as_ref().and_then(super::batch::read);
            if let (Some(recorded), Some(event)) = (recorded, event) {
                newest.insert(recorded.seq, (recorded.at, event));
            }
        }
        let mut then: Option<Self> = None;
        for (at, event) in newest.into_values() {
            match (&mut then, event) {
                (None, Event::RunCreated(created)) => then = Self::new(created, at),
                (None, _) => return Ok(None),
                (Some(then), event) => then.take(event),
            }
        }
        Ok(then)
    }

    fn new(created: RunCreated, at: Timestamp) -> Option<Self> {
        Some(Self {
            id: created.id,
            project: created.project,
            parent: created.parent,
            goal: created.goal,
            phase: created.phases.at(0)?.clone(),
            phases: created.phases,
            state: RunState::Active,
            token_budget: created.token_budget,
            budget_enforced: created.budget_enforced,
            max_dispatches: created.max_dispatches,
            max_per_kind: created.max_per_kind,
            by: created.by,
            created_at: at,
        })
    }

    /// Takes the newest event of a kind in. Only an active run moves, and one that is rolled back
    /// rests if it rested, so no older event of any kind could say otherwise.
    fn take(&mut self, event: Event) {
        match event {
            Event::RunAdvanced(one) => self.moved(one.moved.to, one.moved.completed),
            Event::GateOverridden(one) => self.moved(one.moved.to, one.moved.completed),
            Event::RunRolledBack(back) => {
                self.phase = back.to;
                if self.state != RunState::Paused {
                    self.state = RunState::Active;
                }
            }
            Event::RunPaused(_) => self.state = RunState::Paused,
            Event::RunResumed(_) => self.state = RunState::Active,
            Event::RunCancelled(_) => self.state = RunState::Cancelled,
            Event::RunFailed(_) => self.state = RunState::Failed,
            Event::RunUpdated(one) => {
                self.goal = one.goal;
                self.token_budget = one.token_budget;
                self.max_dispatches = one.max_dispatches;
            }
            _ => {}
        }
    }

    fn moved(&mut self, to: Phase, completed: bool) {
        self.phase = to;
        self.state = if completed {
            RunState::Completed
        } else {
            RunState::Active
        };
    }
}

impl Told {
    /// Tells an event; one that cannot be read is told by its kind.
    pub(super) fn of(recorded: Recorded) -> Self {
        let event = super::batch::read(&recorded);
        let told = event.as_ref().map(tell).filter(|text| !text.is_empty());
        let told = told.unwrap_or_else(|| recorded.kind.replace('_', " "));
        let text: String = told.chars().take(TEXT_CHARS).collect();
        Self {
            seq: recorded.seq,
            at: recorded.at,
            actor: recorded.actor,
            more: told.chars().count() - text.chars().count(),
            text,
            failed: event.as_ref().map(failed).unwrap_or_default(),
        }
    }

    /// Returns the agent who did it, if one did.
    pub fn agent(&self) -> Option<AgentId> {
        let number = self.actor.strip_prefix("agent:")?;
        number.parse().ok().map(AgentId::new)
    }

    /// Returns what kind of actor did it: the operator, whatever the token was, or the system.
    pub fn party(&self) -> &str {
        self.actor
            .split_once(':')
            .map_or(&*self.actor, |(party, _)| party)
    }
}

/// Says which checks failed where a gate refused or was overridden.
fn failed(event: &Event) -> Vec<String> {
    let gate = match event {
        Event::GateRefused(one) => &one.gate,
        Event::GateOverridden(one) => &one.moved.gate,
        _ => return Vec::new(),
    };
    let failed: Vec<&Examined> = gate.iter().filter(|check| !check.passed).collect();
    let told = failed.iter().take(CHECKS_SHOWN).map(|check| {
        let detail: String = check.detail.chars().take(TEXT_CHARS).collect();
        let (step, kind) = (&check.step, check.rule.check.kind().as_str());
        let tier = check.rule.tier.as_str();
        format!("{step}, {kind} ({tier}): {detail}")
    });
    let mut told: Vec<_> = told.collect();
    if failed.len() > CHECKS_SHOWN {
        told.push(format!("and {} more", failed.len() - CHECKS_SHOWN));
    }
    told
}
