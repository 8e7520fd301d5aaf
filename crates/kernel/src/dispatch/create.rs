//! Hands out work.

use comity_domain::limits::{DEADLINE_US_MAX, DEPENDENCIES_MAX, PRIORITY_MAX, PROMPT_BYTES_MAX};
use comity_domain::{DispatchId, LeaseTime, RunId, Span, Text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::DispatchCreated;
use super::table::{self, Dispatch};
use super::{Group, load};
use crate::actor::{Actor, Party};
use crate::command::{Command, Stop};
use crate::error::Error;
use crate::project::table::{self as project_table, Project, ProjectRef};
use crate::reservation::held::holder;
use crate::run::AgentKind;
use crate::run::table as run_table;
use crate::tx::{Read, WriteTx};

/// Hands out work: whoever is of the right kind may claim it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateDispatch {
    /// The project's key or slug; an agent's own, or the run's, unless given.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// The run it is for; it may be claimed while the run is active, and is cancelled with it.
    #[serde(default)]
    pub run: Option<RunId>,
    /// The kind of agent that is to do it, as workers call themselves.
    pub agent_kind: AgentKind,
    /// What is to be done.
    pub prompt: Text<PROMPT_BYTES_MAX>,
    /// How long it may take from now on until it is settled, at most 30 days; then it is timed out.
    #[serde(default)]
    pub deadline: Option<Span>,
    /// Dispatches that must be completed before, by themselves or by a later attempt.
    #[serde(default)]
    #[schemars(length(max = DEPENDENCIES_MAX))]
    pub depends_on: Vec<DispatchId>,
    /// Those of higher priority are claimed before, -1000 to 1000; 0 unless given.
    #[serde(default)]
    #[schemars(range(min = -PRIORITY_MAX, max = PRIORITY_MAX))]
    pub priority: Option<i64>,
    /// What you count it with; `group_outcome` sums a group up.
    #[serde(default)]
    pub group: Option<Group>,
}

/// The dispatch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CreatedDispatch {
    /// The dispatch.
    pub dispatch: Dispatch,
}

impl Command for CreateDispatch {
    const NAME: &'static str = "create_dispatch";
    const WHO: &'static [Party] = &[Party::Orchestrator, Party::Operator];
    type Answer = CreatedDispatch;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<CreatedDispatch, Stop> {
        let actor = tx.actor().clone();
        let priority = self.priority()?;
        let deadline = self.deadline(tx.now().lease)?;
        if self.depends_on.len() > DEPENDENCIES_MAX {
            let rule = format!("must not name more than {DEPENDENCIES_MAX}");
            return Err(Error::invalid("depends_on", rule).into());
        }
        let project = self.project(tx, &actor)?;
        let run = crate::run::belonging(tx, project.id, self.run)?;
        let depends_on = load::origins(tx, project.id, &self.depends_on)?;
        load::must_fit(tx, run.as_ref())?;
        let id = table::next_id(tx)?;
        tx.emit(DispatchCreated {
            id,
            project: project.id,
            run: run.as_ref().map(|run| run.id),
            phase: run.map(|run| run.phase),
            agent_kind: self.agent_kind.to_string(),
            prompt: self.prompt.to_string(),
            priority,
            group: self.group.as_ref().map(ToString::to_string),
            depends_on,
            deadline,
            origin: id,
            retry_of: None,
            attempt: 1,
            not_before: tx.now().lease,
            by: holder(&actor),
        })?;
        let dispatch = table::changed(tx, id)?;
        Ok(CreatedDispatch { dispatch })
    }
}

impl CreateDispatch {
    /// Finds the project: the named one, the caller's own, or that of the run.
    fn project(&self, read: &mut impl Read, actor: &Actor) -> Result<Project, Error> {
        if self.project.is_none()
            && actor.project().is_none()
            && let Some(run) = self.run
        {
            let run = run_table::visible(read, actor, run)?;
            let project = project_table::by_id(read, run.project_id)?;
            return project.ok_or_else(|| Error::not_found("project", &run.project));
        }
        project_table::resolve(read, actor, self.project.as_ref())
    }

    fn priority(&self) -> Result<i64, Error> {
        let priority = self.priority.unwrap_or(0);
        if (-PRIORITY_MAX..=PRIORITY_MAX).contains(&priority) {
            return Ok(priority);
        }
        let rule = format!("must be between -{PRIORITY_MAX} and {PRIORITY_MAX}");
        Err(Error::invalid("priority", rule))
    }

    fn deadline(&self, now: LeaseTime) -> Result<Option<LeaseTime>, Error> {
        match self.deadline.map(Span::micros) {
            None => Ok(None),
            Some(micros @ 1..=DEADLINE_US_MAX) => {
                Ok(Some(LeaseTime::from_micros(now.micros() + micros)))
            }
            Some(_) => Err(Error::invalid(
                "deadline",
                "must be more than 0 and at most 30 d",
            )),
        }
    }
}
