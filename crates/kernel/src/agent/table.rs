//! Agents: reading rows.

use std::collections::BTreeSet;
use std::fmt;

use comity_domain::suggest::nearest;
use comity_domain::{
    AgentId, AgentName, ContactPolicy, LeaseTime, ProjectId, Right, Slug, Timestamp, TokenId,
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::{Map, Value};

use super::event::Profile;
use crate::actor::Actor;
use crate::epoch::next_id;
use crate::error::Error;
use crate::params;
use crate::presence::Presence;
use crate::store::{Row, StoreError};
use crate::tx::Read;

/// An agent as callers see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Agent {
    /// Its number.
    pub id: AgentId,
    /// Its project's slug.
    pub project: Slug,
    /// Its project's number.
    pub project_id: ProjectId,
    /// Its name.
    pub name: String,
    /// What it says of itself, and what it was given.
    #[serde(flatten)]
    pub profile: Profile,
    /// When it was registered.
    pub created_at: Timestamp,
    /// When it was retired.
    pub retired_at: Option<Timestamp>,
    /// How many events it has.
    pub revision: i64,
}

/// An agent with its last sign of life.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AgentSeen {
    /// The agent.
    #[serde(flatten)]
    pub agent: Agent,
    /// When it was last heard of; registering and the start of the kernel count.
    pub last_seen: Timestamp,
    /// What it says it is.
    pub status: String,
    /// What it says it works on.
    pub focus: String,
}

/// An agent as a caller names it: by name or by number.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(inline, untagged)]
pub enum AgentRef {
    /// By number.
    Id(AgentId),
    /// By name, in the project at hand.
    Name(AgentName),
}

impl fmt::Display for AgentRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => id.fmt(f),
            Self::Name(name) => name.fmt(f),
        }
    }
}

impl Serialize for AgentRef {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Id(id) => id.serialize(serializer),
            Self::Name(name) => name.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for AgentRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let id = |number: i64| match number {
            1.. => Ok(Self::Id(AgentId::new(number))),
            _ => Err(de::Error::custom("must be an agent's name or its number")),
        };
        match Value::deserialize(deserializer)? {
            Value::Number(number) => id(number.as_i64().unwrap_or_default()),
            // A name holds a letter, so digits alone can only be a number.
            Value::String(text) => match text.parse() {
                Ok(number) => id(number),
                Err(_) => AgentName::parse(&text)
                    .map(Self::Name)
                    .map_err(de::Error::custom),
            },
            _ => Err(de::Error::custom("must be an agent's name or its number")),
        }
    }
}

/// Returns the agent with this number.
pub fn by_id(read: &mut impl Read, id: AgentId) -> Result<Option<Agent>, StoreError> {
    let found = read.row(
        "select a.id, p.slug, a.project_id, a.name, a.program, a.model, a.task, a.metadata,
            a.orchestrate, a.contact_policy, a.created_at, a.retired_at, a.revision
         from agent a join project p on p.id = a.project_id where a.id = ?1",
        params![id],
        agent,
    )?;
    with_capabilities(read, found)
}

/// Returns the agent with this name in a project; case does not matter.
pub fn by_name(
    read: &mut impl Read,
    project: ProjectId,
    name: &AgentName,
) -> Result<Option<Agent>, StoreError> {
    let found = read.row(
        "select a.id, p.slug, a.project_id, a.name, a.program, a.model, a.task, a.metadata,
            a.orchestrate, a.contact_policy, a.created_at, a.retired_at, a.revision
         from agent a join project p on p.id = a.project_id
         where a.project_id = ?1 and a.name_folded = ?2",
        params![project, &name.folded()],
        agent,
    )?;
    with_capabilities(read, found)
}

/// A page of agents with the presence that was flushed; what is newer is in memory.
pub(crate) fn page(
    read: &mut impl Read,
    project: ProjectId,
    after: i64,
    limit: i64,
) -> Result<Vec<AgentSeen>, StoreError> {
    let agents = read.rows(
        "select a.id, p.slug, a.project_id, a.name, a.program, a.model, a.task, a.metadata,
            a.orchestrate, a.contact_policy, a.created_at, a.retired_at, a.revision,
            s.seen_at, coalesce(s.status, ''), coalesce(s.focus, '')
         from agent a join project p on p.id = a.project_id
         left join presence s on s.agent_id = a.id
         where a.project_id = ?1 and a.id > ?2 order by a.id limit cast(?3 as bigint)",
        params![project, after, limit],
        flushed,
    )?;
    complete(read, agents)
}

/// One agent with its last sign of life.
pub(crate) fn seen_by_id(
    read: &mut impl Read,
    id: AgentId,
) -> Result<Option<AgentSeen>, StoreError> {
    let agents = read.rows(
        "select a.id, p.slug, a.project_id, a.name, a.program, a.model, a.task, a.metadata,
            a.orchestrate, a.contact_policy, a.created_at, a.retired_at, a.revision,
            s.seen_at, coalesce(s.status, ''), coalesce(s.focus, '')
         from agent a join project p on p.id = a.project_id
         left join presence s on s.agent_id = a.id
         where a.id = ?1",
        params![id],
        flushed,
    )?;
    Ok(complete(read, agents)?.into_iter().next())
}

/// Returns for how long nothing was heard of an agent, on clocks that no jump of the wall clock
/// moves. What was lost by a restart counts as heard then.
pub(crate) fn silence_us(read: &mut impl Read, agent: AgentId) -> Result<i64, StoreError> {
    let flushed_us = stored_silence_us(read, agent)?;
    let heard_us = read.presence().silence_us(agent);
    Ok(heard_us.into_iter().chain(flushed_us).min().unwrap_or(0))
}

/// Returns how long ago the last sign of life in the table was, if there is one.
pub(crate) fn stored_silence_us(
    read: &mut impl Read,
    agent: AgentId,
) -> Result<Option<i64>, StoreError> {
    let seen = read.row(
        "select seen_lease_us from presence where agent_id = ?1",
        params![agent],
        Row::take::<LeaseTime>,
    )?;
    let now = read.now().lease;
    Ok(seen.map(|seen| now.micros() - seen.micros()))
}

/// Counts a project's agents: those that are not retired, and those that are.
pub fn counts(read: &mut impl Read, project: ProjectId) -> Result<(i64, i64), StoreError> {
    read.one(
        "select count(*) - count(retired_at), count(retired_at) from agent where project_id = ?1",
        params![project],
        |row| Ok((row.take()?, row.take()?)),
    )
}

/// What a registration must know of a name, and the numbers it would get.
pub struct Vacancy {
    /// Who has the name already.
    pub taken_by: Option<AgentId>,
    /// The number for the next agent.
    pub agent: AgentId,
    /// The number for its token.
    pub token: TokenId,
}

/// Looks whether a name is free in a project; case does not matter. One question, one wait.
pub fn vacancy(
    read: &mut impl Read,
    project: ProjectId,
    name: &AgentName,
) -> Result<Vacancy, StoreError> {
    read.one(
        concat!(
            "select (select id from agent where project_id = ?1 and name_folded = ?2), (",
            next_id!("agent"),
            "), (",
            next_id!("token"),
            ")"
        ),
        params![project, &name.folded()],
        |row| {
            Ok(Vacancy {
                taken_by: row.take()?,
                agent: row.take()?,
                token: row.take()?,
            })
        },
    )
}

/// Finds the agent a request means, in the project at hand.
///
/// Ids count over the workspace, so an id of another project is not found (S20).
pub fn resolve(
    read: &mut impl Read,
    actor: &Actor,
    project: Option<ProjectId>,
    named: &AgentRef,
) -> Result<Agent, Error> {
    let project = actor.project().or(project);
    let found = match (named, project) {
        (AgentRef::Id(id), _) => by_id(read, *id)?,
        (AgentRef::Name(name), Some(project)) => by_name(read, project, name)?,
        (AgentRef::Name(_), None) => return Err(Error::invalid("project", "is missing")),
    };
    let visible = |agent: &Agent| project.is_none_or(|project| project == agent.project_id);
    if let Some(agent) = found.filter(visible) {
        return Ok(agent);
    }
    let near = match project {
        Some(project) => near_name(read, project, &named.to_string())?,
        None => None,
    };
    Err(Error::NotFound {
        kind: "agent",
        name: named.to_string(),
        near,
    })
}

fn near_name(
    read: &mut impl Read,
    project: ProjectId,
    wanted: &str,
) -> Result<Option<String>, StoreError> {
    let names = read.rows(
        "select name from agent where project_id = ?1 and retired_at is null
         order by id desc limit 500",
        params![project],
        Row::take::<String>,
    )?;
    Ok(nearest(wanted, names.iter().map(String::as_str)).map(ToOwned::to_owned))
}

fn agent(row: &mut Row) -> Result<Agent, StoreError> {
    Ok(Agent {
        id: row.take()?,
        project: Slug::from_stored(row.take()?),
        project_id: row.take()?,
        name: row.take()?,
        profile: Profile {
            program: row.take()?,
            model: row.take()?,
            task: row.take()?,
            capabilities: BTreeSet::new(),
            metadata: metadata(row)?,
            rights: rights(row)?,
            contact_policy: row.word(ContactPolicy::from_word)?,
        },
        created_at: row.take()?,
        retired_at: row.take()?,
        revision: row.take()?,
    })
}

fn rights(row: &mut Row) -> Result<BTreeSet<Right>, StoreError> {
    let orchestrate: bool = row.take()?;
    let rights = orchestrate.then_some(Right::Orchestrate);
    Ok(rights.into_iter().collect())
}

fn metadata(row: &mut Row) -> Result<Map<String, Value>, StoreError> {
    serde_json::from_str(&row.take::<String>()?).map_err(|_| StoreError::Shape("a JSON object"))
}

/// An agent and what was flushed of its presence.
struct Flushed {
    agent: Agent,
    seen_at: Option<Timestamp>,
    status: String,
    focus: String,
}

fn flushed(row: &mut Row) -> Result<Flushed, StoreError> {
    Ok(Flushed {
        agent: agent(row)?,
        seen_at: row.take()?,
        status: row.take()?,
        focus: row.take()?,
    })
}

fn with_capabilities(
    read: &mut impl Read,
    agent: Option<Agent>,
) -> Result<Option<Agent>, StoreError> {
    let Some(mut agent) = agent else {
        return Ok(None);
    };
    agent.profile.capabilities = capabilities(read, agent.id)?;
    Ok(Some(agent))
}

fn capabilities(read: &mut impl Read, agent: AgentId) -> Result<BTreeSet<String>, StoreError> {
    let rows = read.rows(
        "select capability from agent_capability where agent_id = ?1",
        params![agent],
        Row::take::<String>,
    )?;
    Ok(rows.into_iter().collect())
}

/// Adds capabilities, and the signs of life that are not flushed yet.
fn complete(read: &mut impl Read, agents: Vec<Flushed>) -> Result<Vec<AgentSeen>, StoreError> {
    let complete = |mut flushed: Flushed| {
        flushed.agent.profile.capabilities = capabilities(read, flushed.agent.id)?;
        Ok(heard_since(flushed, read.presence()))
    };
    agents.into_iter().map(complete).collect()
}

/// Takes what is newest; of whom nothing is known, the start of listening counts, so that nobody
/// passes for silent because nobody was listening.
fn heard_since(flushed: Flushed, presence: &Presence) -> AgentSeen {
    let unknown = flushed.agent.created_at.max(presence.started());
    let mut seen = AgentSeen {
        last_seen: flushed.seen_at.unwrap_or(unknown),
        agent: flushed.agent,
        status: flushed.status,
        focus: flushed.focus,
    };
    if let Some(heard) = presence.of(seen.agent.id)
        && seen.last_seen <= heard.at
    {
        seen.last_seen = heard.at;
        seen.status = heard.status.unwrap_or(seen.status);
        seen.focus = heard.focus.unwrap_or(seen.focus);
    }
    seen
}
