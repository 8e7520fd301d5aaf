//! Runs: reading rows.

use std::collections::{BTreeMap, BTreeSet};

use comity_domain::limits::{LABEL_BYTES_MAX, PORTFOLIO_DEPTH_MAX};
use comity_domain::{
    AgentId, Chain, GateText, Line, Phase, ProjectId, RunId, RunState, Slug, Timestamp,
};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::event::Moved;
use crate::actor::Actor;
use crate::epoch::next_id;
use crate::error::Error;
use crate::params;
use crate::store::{Row, StoreError};
use crate::tx::Read;

/// A kind of agent, as workers and those who hand out work call it.
pub type AgentKind = Line<LABEL_BYTES_MAX>;

/// The columns of a run, for [`run`], and where they are found.
macro_rules! run_from {
    ($rest:literal) => {
        concat!(
            "select r.id, r.project_id, p.slug, r.parent_id, r.goal, r.phases, r.gates, r.phase,
                r.position, r.state, r.token_budget, r.budget_enforced, r.max_dispatches,
                r.max_per_kind, r.metadata, r.tokens, r.agent_id, r.created_at, r.ended_at,
                r.revision
             from run r join project p on p.id = r.project_id ",
            $rest
        )
    };
}

/// A run as callers see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Its number.
    pub id: RunId,
    /// The project's number.
    pub project_id: ProjectId,
    /// The project's slug.
    pub project: Slug,
    /// The run it is a part of.
    pub parent: Option<RunId>,
    /// What it is for.
    pub goal: String,
    /// Its phases in their order.
    pub phases: Chain,
    /// The checks of each step.
    pub gates: GateText,
    /// The phase it is in.
    pub phase: Phase,
    /// The place of that phase, from 0.
    pub position: i64,
    /// Where it stands.
    pub state: RunState,
    /// How many tokens it and everything below it may use.
    pub token_budget: Option<i64>,
    /// Whether work is handed out no more, and the run moves no more, once they are used.
    pub budget_enforced: bool,
    /// How many dispatches of it and everything below it may be in hand at a time.
    pub max_dispatches: Option<i64>,
    /// The same for kinds of agent.
    pub max_per_kind: BTreeMap<String, i64>,
    /// The caller's own data.
    pub metadata: Map<String, Value>,
    /// How many tokens its own dispatches have used.
    pub tokens: i64,
    /// Who created it, by number; null for the operator.
    pub created_by: Option<AgentId>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was completed, cancelled or failed.
    pub ended_at: Option<Timestamp>,
    /// How many events it has, its evidence included.
    pub revision: i64,
}

impl Run {
    /// Returns the place of its phase.
    pub(crate) fn place(&self) -> usize {
        usize::try_from(self.position).unwrap_or(0)
    }

    /// Takes a move in, but for the count of its events.
    pub(crate) fn moved(&mut self, moved: &Moved, at: Timestamp) {
        self.phase = moved.to.clone();
        self.position = moved.position;
        if moved.completed {
            self.ended(RunState::Completed, at);
        }
    }

    /// Takes its end in.
    pub(crate) fn ended(&mut self, state: RunState, at: Timestamp) {
        self.state = state;
        self.ended_at = Some(at);
    }

    /// Refuses a run that does not go on.
    pub(crate) fn must_be_active(&self) -> Result<(), Error> {
        match self.state {
            RunState::Active => Ok(()),
            state => Err(self.cannot(state)),
        }
    }

    /// Refuses a run that has ended.
    pub(crate) fn must_be_live(&self) -> Result<(), Error> {
        if self.state.is_live() {
            return Ok(());
        }
        Err(self.cannot(self.state))
    }

    fn cannot(&self, state: RunState) -> Error {
        Error::IllegalTransition {
            what: format!("run {}", self.id),
            state: state.as_str(),
        }
    }

    /// Refuses a run that is in another phase than the caller thinks (G2, G3).
    pub(crate) fn must_be_in(&self, expected: &Phase) -> Result<(), Error> {
        if *expected == self.phase {
            return Ok(());
        }
        Err(Error::StalePhase {
            run: self.id,
            expected: expected.to_string(),
            present: self.phase.to_string(),
        })
    }
}

/// Returns a run by number, whoever asks.
pub(crate) fn by_id(read: &mut impl Read, id: RunId) -> Result<Option<Run>, StoreError> {
    read.row(run_from!("where r.id = ?1"), params![id], run)
}

/// Returns a run where the caller may see it.
pub(crate) fn visible(read: &mut impl Read, actor: &Actor, id: RunId) -> Result<Run, Error> {
    by_id(read, id)?
        .filter(|run| actor.project().is_none_or(|own| own == run.project_id))
        .ok_or_else(|| Error::not_found("run", &id))
}

/// Which runs are listed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chosen {
    pub(super) project: Option<ProjectId>,
    pub(super) state: Option<RunState>,
    pub(super) parent: Option<RunId>,
}

/// Returns a page of runs, the newest first.
pub(super) fn page(
    read: &mut impl Read,
    chosen: Chosen,
    before: i64,
    limit: i64,
) -> Result<Vec<Run>, StoreError> {
    read.rows(
        run_from!(
            "where (cast(?1 as bigint) is null or r.project_id = cast(?1 as bigint))
             and (cast(?2 as text) is null or r.state = cast(?2 as text))
             and (cast(?3 as bigint) is null or r.parent_id = cast(?3 as bigint))
             and r.id < cast(?4 as bigint)
             order by r.id desc limit cast(?5 as bigint)"
        ),
        params![
            chosen.project,
            chosen.state.map(RunState::as_str),
            chosen.parent,
            before,
            limit
        ],
        run,
    )
}

/// Returns the newest run of a project that goes on or rests and is no part of another.
pub(crate) fn current(read: &mut impl Read, project: ProjectId) -> Result<Option<Run>, StoreError> {
    read.row(
        run_from!(
            "where r.project_id = ?1 and r.state in ('active', 'paused')
             order by case when r.parent_id is null then 0 else 1 end, r.id desc limit 1"
        ),
        params![project],
        run,
    )
}

/// Returns how many runs of a project go on or rest.
pub(crate) fn count_live(read: &mut impl Read, project: ProjectId) -> Result<i64, StoreError> {
    read.one(
        "select count(*) from run where project_id = ?1 and state in ('active', 'paused')",
        params![project],
        Row::take,
    )
}

/// Returns the children of a run, in the order of their numbers.
pub(crate) fn children(read: &mut impl Read, parent: RunId) -> Result<Vec<Run>, StoreError> {
    read.rows(
        run_from!("where r.parent_id = ?1 order by r.id"),
        params![parent],
        run,
    )
}

/// Returns the runs that a run waits for, in the order of their numbers.
pub(crate) fn upstreams(read: &mut impl Read, run_id: RunId) -> Result<Vec<Run>, StoreError> {
    read.rows(
        run_from!(
            "join run_link l on l.upstream_id = r.id where l.downstream_id = ?1 order by r.id"
        ),
        params![run_id],
        run,
    )
}

/// A run and everything below it, each with how far below it is.
macro_rules! below {
    ($rest:literal) => {
        concat!(
            "with recursive below (id, depth) as (
                select id, cast(0 as bigint) from run where id = ?1
                union all
                select c.id, b.depth + 1 from run c join below b on c.parent_id = b.id) ",
            $rest
        )
    };
}

pub(crate) use below;

/// Returns a run and everything below it, parents before their children.
pub(crate) fn subtree(read: &mut impl Read, root: RunId) -> Result<Vec<Run>, StoreError> {
    read.rows(
        below!(
            "select r.id, r.project_id, p.slug, r.parent_id, r.goal, r.phases, r.gates, r.phase,
                r.position, r.state, r.token_budget, r.budget_enforced, r.max_dispatches,
                r.max_per_kind, r.metadata, r.tokens, r.agent_id, r.created_at, r.ended_at,
                r.revision
             from below b join run r on r.id = b.id join project p on p.id = r.project_id
             order by b.depth, r.id"
        ),
        params![root],
        run,
    )
}

/// Adds up the tokens that a run and everything below it used, each time anew.
pub(crate) fn tokens_below(read: &mut impl Read, root: RunId) -> Result<i64, StoreError> {
    read.one(
        below!("select cast(sum(r.tokens) as bigint) from below b join run r on r.id = b.id"),
        params![root],
        Row::take,
    )
}

/// Counts a run and everything below it.
pub(super) fn count_below(read: &mut impl Read, root: RunId) -> Result<i64, StoreError> {
    read.one(
        below!("select count(*) from below"),
        params![root],
        Row::take,
    )
}

/// Returns the runs above a run, its parent first.
pub(crate) fn ancestors(read: &mut impl Read, run: &Run) -> Result<Vec<Run>, StoreError> {
    let mut above = Vec::new();
    let mut next = run.parent;
    while let Some(parent) = next
        && above.len() <= PORTFOLIO_DEPTH_MAX
    {
        let Some(parent) = by_id(read, parent)? else {
            break;
        };
        next = parent.parent;
        above.push(parent);
    }
    Ok(above)
}

/// Returns the phases that the next advance jumps, with the reasons.
pub(crate) fn skips(
    read: &mut impl Read,
    id: RunId,
) -> Result<BTreeMap<Phase, String>, StoreError> {
    let rows = read.rows(
        "select phase, reason from run_skip where run_id = ?1 order by phase",
        params![id],
        |row| Ok((stored_phase(row.take()?)?, row.take()?)),
    )?;
    Ok(rows.into_iter().collect())
}

/// Returns the phases that the next advance jumps.
pub(crate) fn skipped(read: &mut impl Read, id: RunId) -> Result<BTreeSet<Phase>, StoreError> {
    Ok(skips(read, id)?.into_keys().collect())
}

/// Returns the number for the next run.
pub(super) fn next_id(read: &mut impl Read) -> Result<RunId, StoreError> {
    read.one(next_id!("run"), &[], Row::take)
}

/// Reads a phase that was checked when it was stored.
pub(crate) fn stored_phase(text: String) -> Result<Phase, StoreError> {
    Phase::parse(text).map_err(|_| StoreError::Shape("a phase"))
}

fn json<T: DeserializeOwned>(row: &mut Row, what: &'static str) -> Result<T, StoreError> {
    serde_json::from_str(&row.take::<String>()?).map_err(|_| StoreError::Shape(what))
}

fn run(row: &mut Row) -> Result<Run, StoreError> {
    Ok(Run {
        id: row.take()?,
        project_id: row.take()?,
        project: Slug::from_stored(row.take()?),
        parent: row.take()?,
        goal: row.take()?,
        phases: json(row, "a chain of phases")?,
        gates: GateText::from_stored(row.take()?),
        phase: stored_phase(row.take()?)?,
        position: row.take()?,
        state: row.word(RunState::from_word)?,
        token_budget: row.take()?,
        budget_enforced: row.take()?,
        max_dispatches: row.take()?,
        max_per_kind: json(row, "limits")?,
        metadata: json(row, "metadata")?,
        tokens: row.take()?,
        created_by: row.take()?,
        created_at: row.take()?,
        ended_at: row.take()?,
        revision: row.take()?,
    })
}
