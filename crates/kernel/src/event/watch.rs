//! What somebody wants to follow of the log, as far as they may.

use comity_domain::Seq;

use super::entry::Entry;
use super::filter::{Filter, Wanted};
use super::pruned;
use super::sight::{Sight, View};
use crate::actor::{Actor, Party};
use crate::agent::{AgentRef, table as agent_table};
use crate::error::Error;
use crate::project::{ProjectRef, table as project_table};
use crate::query::Query;
use crate::tx::Snapshot;

/// What is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watch {
    sight: Sight,
    filter: Filter,
}

/// Asks what a caller follows who wants to follow this.
#[derive(Clone, Debug, Default)]
pub struct OpenWatch {
    /// Which events.
    pub wanted: Wanted,
    /// Behind which event; from now on, if it is not given.
    pub since: Option<Seq>,
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
    /// Follows what a filter lets pass, through somebody's eyes.
    pub const fn new(sight: Sight, filter: Filter) -> Self {
        Self { sight, filter }
    }

    /// Returns which events are followed.
    pub const fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Tells how much of an event is followed, if any.
    pub fn view(&self, entry: &Entry) -> Option<View> {
        let view = entry.view(self.sight)?;
        self.filter.matches(entry).then_some(view)
    }
}

impl Query for OpenWatch {
    const NAME: &'static str = "events";
    const WHO: &'static [Party] = &[Party::Operator, Party::Agent, Party::Observer];
    type Answer = Watch;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Watch, Error> {
        let filter = self.wanted.resolve(snapshot, actor)?;
        if let Some(since) = self.since {
            pruned::must_go_on(snapshot, since)?;
        }
        Ok(Watch::new(Sight::of(actor), filter))
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
        let sight = Sight::Agent {
            agent: named.id,
            project: named.project_id,
        };
        Ok(Watch::new(sight, Filter::default()))
    }
}
