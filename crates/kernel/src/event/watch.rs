//! What somebody wants to follow of the log, as far as they may.

use std::collections::BTreeSet;

use comity_domain::ProjectId;
use comity_domain::suggest::nearest;

use super::entry::Entry;
use super::sight::{Sight, View};
use crate::actor::{Actor, Party};
use crate::agent::{AgentRef, table as agent_table};
use crate::error::Error;
use crate::log::Event;
use crate::project::{ProjectRef, table as project_table};
use crate::query::Query;
use crate::tx::Snapshot;

/// What is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watch {
    sight: Sight,
    project: Option<ProjectId>,
    kinds: BTreeSet<String>,
}

/// Asks what a caller follows who wants to follow this.
#[derive(Clone, Debug, Default)]
pub struct OpenWatch {
    /// Only events of this project.
    pub project: Option<ProjectRef>,
    /// Only events of these kinds; none means all.
    pub kinds: BTreeSet<String>,
}

/// Asks to see what an agent sees: for itself, and for the operator.
#[derive(Clone, Debug)]
pub struct OpenAgentWatch {
    /// The agent's name or number.
    pub agent: AgentRef,
    /// The project's key or slug, where the agent is given by name.
    pub project: Option<ProjectRef>,
}

impl Watch {
    /// Tells how much of an event is followed, if any.
    pub fn view(&self, entry: &Entry) -> Option<View> {
        let of_project = self
            .project
            .is_none_or(|project| entry.project() == Some(project));
        let of_kind = self.kinds.is_empty() || self.kinds.contains(entry.kind());
        let view = entry.view(self.sight)?;
        (of_project && of_kind).then_some(view)
    }
}

impl Query for OpenWatch {
    const NAME: &'static str = "events";
    const WHO: &'static [Party] = &[Party::Operator, Party::Agent, Party::Observer];
    type Answer = Watch;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Watch, Error> {
        for kind in &self.kinds {
            must_be_a_kind(kind)?;
        }
        let project = match &self.project {
            Some(_) => Some(project_table::resolve(snapshot, actor, self.project.as_ref())?.id),
            None => None,
        };
        Ok(Watch {
            sight: Sight::of(actor),
            project,
            kinds: self.kinds.clone(),
        })
    }
}

impl Query for OpenAgentWatch {
    const NAME: &'static str = "events";
    const WHO: &'static [Party] = &[Party::Operator, Party::Itself];
    type Answer = Watch;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Watch, Error> {
        let project = match &self.project {
            Some(_) => Some(project_table::resolve(snapshot, actor, self.project.as_ref())?.id),
            None => None,
        };
        let named = agent_table::resolve(snapshot, actor, project, &self.agent)?;
        if let Actor::Agent { agent, .. } = actor
            && *agent != named.id
        {
            return Err(Error::Forbidden {
                reason: format!("the credential is not that of `{}`", named.name),
            });
        }
        Ok(Watch {
            sight: Sight::Agent {
                agent: named.id,
                project: named.project_id,
            },
            project: None,
            kinds: BTreeSet::new(),
        })
    }
}

fn must_be_a_kind(kind: &str) -> Result<(), Error> {
    if Event::KINDS.contains(&kind) {
        return Ok(());
    }
    let near = nearest(kind, Event::KINDS.iter().copied());
    let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    Err(Error::invalid(
        "kinds",
        format!("must be kinds of events{near}"),
    ))
}
