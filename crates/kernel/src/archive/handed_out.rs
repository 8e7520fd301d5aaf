//! A dispatch as its file shows it: what was handed out, and how it was settled.

use comity_domain::{AgentId, DispatchId, Phase, ProjectId, RunId, Timestamp};

use crate::dispatch::event::DispatchCreated;
use crate::params;
use crate::run::table::stored_phase;
use crate::store::{Row, StoreError};
use crate::tx::Read;

/// What of a dispatch never changes, and the tokens it used once it is settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandedOut {
    /// Its number.
    pub id: DispatchId,
    /// The project.
    pub project: ProjectId,
    /// The run it is for.
    pub run: Option<RunId>,
    /// The phase that the run was in.
    pub phase: Option<Phase>,
    /// The kind of agent that is to do it.
    pub agent_kind: String,
    /// What is to be done.
    pub prompt: String,
    /// Before those of smaller priority.
    pub priority: i64,
    /// What its maker counts it with.
    pub group: Option<String>,
    /// The first attempts of the work that must be completed before, by their numbers.
    pub depends_on: Vec<DispatchId>,
    /// The attempt that this one repeats.
    pub retry_of: Option<DispatchId>,
    /// Which attempt it is.
    pub attempt: i64,
    /// How many tokens it used; nobody knows before it is settled.
    pub tokens: Option<i64>,
    /// Who made it; nobody is the operator.
    pub by: Option<AgentId>,
    /// When it was made.
    pub created_at: Timestamp,
}

impl HandedOut {
    /// Returns it as it was made.
    pub fn new(created: &DispatchCreated, at: Timestamp) -> Self {
        let mut depends_on = created.depends_on.clone();
        depends_on.sort();
        Self {
            id: created.id,
            project: created.project,
            run: created.run,
            phase: created.phase.clone(),
            agent_kind: created.agent_kind.clone(),
            prompt: created.prompt.clone(),
            priority: created.priority,
            group: created.group.clone(),
            depends_on,
            retry_of: created.retry_of,
            attempt: created.attempt,
            tokens: None,
            by: created.by,
            created_at: at,
        }
    }

    /// Reads one that is settled, which has changed for the last time.
    pub(super) fn settled(
        read: &mut impl Read,
        id: DispatchId,
    ) -> Result<Option<Self>, StoreError> {
        let row = read.row(
            "select project_id, run_id, phase, agent_kind, prompt, priority, group_name, retry_of,
                attempt, tokens, agent_id, created_at
             from dispatch where id = ?1 and settled_at is not null",
            params![id],
            |row| {
                Ok(Self {
                    id,
                    project: row.take()?,
                    run: row.take()?,
                    phase: row
                        .take::<Option<String>>()?
                        .map(stored_phase)
                        .transpose()?,
                    agent_kind: row.take()?,
                    prompt: row.take()?,
                    priority: row.take()?,
                    group: row.take()?,
                    depends_on: Vec::new(),
                    retry_of: row.take()?,
                    attempt: row.take()?,
                    tokens: Some(row.take()?),
                    by: row.take()?,
                    created_at: row.take()?,
                })
            },
        )?;
        let Some(mut settled) = row else {
            return Ok(None);
        };
        settled.depends_on = read.rows(
            "select origin_id from dispatch_dependency where dispatch_id = ?1 order by origin_id",
            params![id],
            Row::take,
        )?;
        Ok(Some(settled))
    }
}
