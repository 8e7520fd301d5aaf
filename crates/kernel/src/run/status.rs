//! Tells how a run stands, now or as of a place in the log.

use std::collections::BTreeMap;

use comity_domain::{DispatchState, Phase, RunId, RunState, Seq};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::past::past;
use super::table::{self, Run};
use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::gate::GateVerdict;
use crate::gate::evaluate;
use crate::params;
use crate::query::Query;
use crate::store::{Row, StoreError};
use crate::tx::{Read, Snapshot};

/// Tells how a run stands: its phase, what its gate says, its work, its tokens.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetRunStatus {
    /// The run's number.
    pub run: RunId,
    /// A place in the log: the run as it was then.
    #[serde(default)]
    pub at: Option<Seq>,
}

/// Tells how a run stood at a place in the log.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunAt {
    /// The run's number.
    pub run: RunId,
    /// The place in the log.
    pub seq: Seq,
}

/// How a run stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunStatus {
    /// The run.
    pub run: Run,
    /// The place in the log that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Seq>,
    /// Phases that the next advance jumps, with the reasons.
    pub skipped: BTreeMap<Phase, String>,
    /// What its gate says; null for a run that does not go on, and for the past.
    pub gate: Option<GateVerdict>,
    /// How many agents of it are at work.
    pub agents_active: usize,
    /// How many of its dispatches are in each state.
    pub dispatches: BTreeMap<DispatchState, usize>,
    /// How many tokens it and everything below it used.
    pub tokens_used: i64,
    /// Its children.
    pub children: Vec<RunId>,
}

impl Query for GetRunStatus {
    const NAME: &'static str = "run_status";
    const WHO: &'static [Party] = &[Party::Operator, Party::Agent, Party::Observer];
    type Answer = RunStatus;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<RunStatus, Error> {
        let run = table::visible(snapshot, actor, self.run)?;
        match self.at {
            Some(at) => then(snapshot, &run, "at", at),
            None => now(snapshot, run),
        }
    }
}

impl Query for RunAt {
    const NAME: &'static str = "run_at";
    const WHO: &'static [Party] = &[Party::Operator, Party::Agent, Party::Observer];
    type Answer = RunStatus;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<RunStatus, Error> {
        let run = table::visible(snapshot, actor, self.run)?;
        then(snapshot, &run, "seq", self.seq)
    }
}

/// Tells how a run stands.
pub(super) fn now(read: &mut impl Read, run: Run) -> Result<RunStatus, Error> {
    let gate = match run.state {
        RunState::Active => Some(GateVerdict::of(&run, &evaluate::way(read, &run)?)),
        _ => None,
    };
    Ok(RunStatus {
        at: None,
        skipped: table::skips(read, run.id)?,
        gate,
        agents_active: at_work(read, run.id)?,
        dispatches: counted(read, run.id)?,
        tokens_used: table::tokens_below(read, run.id)?,
        children: table::children(read, run.id)?
            .iter()
            .map(|one| one.id)
            .collect(),
        run,
    })
}

/// Tells how a run stood, from its events alone; `field` is where the caller said when.
fn then(read: &mut impl Read, run: &Run, field: &'static str, at: Seq) -> Result<RunStatus, Error> {
    if at > read.head() {
        let rule = format!("must be at most {}, the end of the log", read.head());
        return Err(Error::invalid(field, rule));
    }
    let found = past(read, run, at)?;
    let Some(was) = found else {
        return Err(Error::NotFound {
            kind: "run",
            name: format!("{} at {at}", run.id),
            near: None,
        });
    };
    let mut tokens_used = was.run.tokens;
    let mut children = Vec::new();
    for below in table::subtree(read, run.id)?.iter().skip(1) {
        if let Some(was) = past(read, below, at)? {
            tokens_used += was.run.tokens;
            if below.parent == Some(run.id) {
                children.push(below.id);
            }
        }
    }
    let mut dispatches = BTreeMap::new();
    for state in was.dispatches.values() {
        *dispatches.entry(*state).or_default() += 1;
    }
    Ok(RunStatus {
        at: Some(at),
        skipped: was.skipped,
        gate: None,
        agents_active: was.at_work.len(),
        dispatches,
        tokens_used,
        children,
        run: was.run,
    })
}

fn at_work(read: &mut impl Read, run: RunId) -> Result<usize, StoreError> {
    let active: i64 = read.one(
        "select count(*) from run_agent ra join agent a on a.id = ra.agent_id
         where ra.run_id = ?1 and ra.outcome is null and a.retired_at is null",
        params![run],
        Row::take,
    )?;
    Ok(usize::try_from(active).unwrap_or(0))
}

fn counted(read: &mut impl Read, run: RunId) -> Result<BTreeMap<DispatchState, usize>, StoreError> {
    let rows = read.rows(
        "select state, count(*) from dispatch where run_id = ?1 group by state",
        params![run],
        |row| {
            let state = row.word(DispatchState::from_word)?;
            Ok((state, usize::try_from(row.take::<i64>()?).unwrap_or(0)))
        },
    )?;
    Ok(rows.into_iter().collect())
}
