//! Agents of a run: who takes part in it, and how it went.

use comity_domain::limits::{LABEL_BYTES_MAX, RUN_AGENTS_MAX};
use comity_domain::{AgentId, Line, Outcome, RunId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::{RunAgentAdded, RunAgentFinished};
use super::table::{self, Run};
use crate::actor::{Actor, Party};
use crate::agent::table::{self as agent_table, Agent, AgentRef};
use crate::command::{Command, Stop};
use crate::error::{Error, Impossible};
use crate::page::{After, Limit, Page};
use crate::params;
use crate::query::Query;
use crate::store::{Row, StoreError};
use crate::tx::{Read, Snapshot, WriteTx};

/// Lets an agent take part in a run; the check `agents_complete` waits for it. An agent adds
/// itself; with the right `orchestrate`, any of its project.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddRunAgent {
    /// The run's number.
    pub run: RunId,
    /// The agent's name or number.
    pub agent: AgentRef,
    /// What it does there.
    #[serde(default)]
    pub role: Option<Line<LABEL_BYTES_MAX>>,
}

/// Says that an agent has done its part of a run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FinishRunAgent {
    /// The run's number.
    pub run: RunId,
    /// The agent's name or number.
    pub agent: AgentRef,
    /// `completed` or `failed`.
    pub outcome: Outcome,
}

/// An agent of a run as callers see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunAgent {
    /// The run.
    pub run: RunId,
    /// The agent's number.
    pub agent_id: AgentId,
    /// The agent's name.
    pub name: String,
    /// What it does there.
    pub role: String,
    /// Whether it is at work.
    pub active: bool,
    /// How it went.
    pub outcome: Option<Outcome>,
    /// When it began.
    pub started_at: Timestamp,
    /// When it was done.
    pub finished_at: Option<Timestamp>,
}

/// The agent's part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunAgentAnswer {
    /// The agent's part.
    pub run_agent: RunAgent,
}

impl Command for AddRunAgent {
    const NAME: &'static str = "add_run_agent";
    const WHO: &'static [Party] = &[Party::Orchestrator, Party::Operator, Party::Itself];
    type Answer = RunAgentAnswer;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<RunAgentAnswer, Stop> {
        let (run, agent) = meant(tx, self.run, &self.agent)?;
        run.must_be_active()?;
        if agent.retired_at.is_some() {
            return Err(Error::AgentRetired { name: agent.name }.into());
        }
        let before = part(tx, run.id, agent.id)?;
        let is_new = before.is_none();
        if let Some(part) = before.filter(|part| part.active) {
            return Ok(RunAgentAnswer { run_agent: part });
        }
        let count = "select count(*) from run_agent where run_id = ?1";
        if is_new && tx.one(count, params![run.id], Row::take::<i64>)? >= RUN_AGENTS_MAX {
            return Err(Error::LimitExceeded {
                what: "the number of agents of one run",
                limit: RUN_AGENTS_MAX.unsigned_abs(),
            }
            .into());
        }
        tx.emit(RunAgentAdded {
            run: run.id,
            project: run.project_id,
            agent: agent.id,
            role: self.role.as_deref().unwrap_or_default().to_owned(),
        })?;
        answer(tx, run.id, agent.id)
    }
}

impl Command for FinishRunAgent {
    const NAME: &'static str = "finish_run_agent";
    const WHO: &'static [Party] = &[Party::Orchestrator, Party::Operator, Party::Itself];
    type Answer = RunAgentAnswer;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<RunAgentAnswer, Stop> {
        let (run, agent) = meant(tx, self.run, &self.agent)?;
        let part = part(tx, run.id, agent.id)?;
        let part = part.ok_or_else(|| Error::not_found("agent of the run", &self.agent))?;
        match part.outcome {
            None => {}
            Some(outcome) if outcome == self.outcome => {
                return Ok(RunAgentAnswer { run_agent: part });
            }
            Some(outcome) => {
                return Err(Error::IllegalTransition {
                    what: format!("the part of `{}` in run {}", agent.name, run.id),
                    state: outcome.as_str(),
                }
                .into());
            }
        }
        run.must_be_live()?;
        tx.emit(RunAgentFinished {
            run: run.id,
            project: run.project_id,
            agent: agent.id,
            outcome: self.outcome,
        })?;
        answer(tx, run.id, agent.id)
    }
}

/// Finds the run, and the agent that the caller may speak for.
fn meant(tx: &mut WriteTx<'_, '_>, run: RunId, named: &AgentRef) -> Result<(Run, Agent), Error> {
    let actor = tx.actor().clone();
    let run = table::visible(tx, &actor, run)?;
    let agent = agent_table::resolve(tx, &actor, Some(run.project_id), named)?;
    if let Actor::Agent {
        agent: own,
        orchestrate: false,
        ..
    } = actor
        && own != agent.id
    {
        return Err(Error::Forbidden {
            reason: format!("agent `{}` is not the caller", agent.name),
        });
    }
    Ok((run, agent))
}

fn answer(tx: &mut WriteTx<'_, '_>, run: RunId, agent: AgentId) -> Result<RunAgentAnswer, Stop> {
    let part = part(tx, run, agent)?;
    let run_agent =
        part.ok_or_else(|| Error::internal(Impossible("an agent's part vanished as it changed")))?;
    Ok(RunAgentAnswer { run_agent })
}

/// Lists the agents of a run, in the order of their numbers.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListRunAgents {
    /// The run's number.
    pub run: RunId,
    /// How many at most.
    #[serde(default)]
    pub limit: Limit,
    /// The `next` of the page before.
    #[serde(default)]
    pub after: After,
}

impl Query for ListRunAgents {
    const NAME: &'static str = "list_run_agents";
    const WHO: &'static [Party] = &[Party::Operator, Party::Agent, Party::Observer];
    type Answer = Page<RunAgent>;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Page<RunAgent>, Error> {
        let run = table::visible(snapshot, actor, self.run)?;
        let items = snapshot.rows(
            "select ra.run_id, ra.agent_id, a.name, ra.role, ra.outcome, ra.started_at,
                ra.finished_at
             from run_agent ra join agent a on a.id = ra.agent_id
             where ra.run_id = ?1 and ra.agent_id > ?2
             order by ra.agent_id limit cast(?3 as bigint)",
            params![run.id, self.after.get(), self.limit.and_one()],
            run_agent,
        )?;
        Ok(Page::cut(items, self.limit, |one| one.agent_id.get()))
    }
}

fn part(read: &mut impl Read, run: RunId, agent: AgentId) -> Result<Option<RunAgent>, StoreError> {
    read.row(
        "select ra.run_id, ra.agent_id, a.name, ra.role, ra.outcome, ra.started_at, ra.finished_at
         from run_agent ra join agent a on a.id = ra.agent_id
         where ra.run_id = ?1 and ra.agent_id = ?2",
        params![run, agent],
        run_agent,
    )
}

fn run_agent(row: &mut Row) -> Result<RunAgent, StoreError> {
    let (run, agent_id, name, role) = (row.take()?, row.take()?, row.take()?, row.take()?);
    let outcome = row.take::<Option<String>>()?;
    let outcome = outcome.as_deref().and_then(Outcome::from_word);
    Ok(RunAgent {
        run,
        agent_id,
        name,
        role,
        active: outcome.is_none(),
        outcome,
        started_at: row.take()?,
        finished_at: row.take()?,
    })
}
