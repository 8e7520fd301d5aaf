//! Lists leases.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::table::{self, Chosen, Reservation};
use crate::actor::{Actor, Party};
use crate::agent::table::{self as agent_table, AgentRef};
use crate::error::Error;
use crate::page::{After, Limit, Page};
use crate::project::table::{self as project_table, ProjectRef};
use crate::query::Query;
use crate::tx::{Read, Snapshot};

/// Lists the leases of a project or of an agent, oldest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListReservations {
    /// The project's key or slug; an agent's own unless given.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// Only those of this agent.
    #[serde(default)]
    pub agent: Option<AgentRef>,
    /// `active`, `ended` or `all`; `active` unless given.
    #[serde(default)]
    pub state: State,
    /// How many at most.
    #[serde(default)]
    pub limit: Limit,
    /// The `next` of the page before.
    #[serde(default)]
    pub after: After,
}

/// Which leases are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Those that hold now.
    #[default]
    Active,
    /// Those that hold no more.
    Ended,
    /// Both.
    All,
}

impl Query for ListReservations {
    const NAME: &'static str = "list_reservations";
    const WHO: &'static [Party] = &[Party::Operator, Party::Agent, Party::Observer];
    type Answer = Page<Reservation>;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Page<Reservation>, Error> {
        // No list crosses projects (F13): an agent's number alone says its project.
        let project = match (&self.project, &self.agent) {
            (None, Some(AgentRef::Id(_))) if actor.project().is_none() => None,
            (named, _) => Some(project_table::resolve(snapshot, actor, named.as_ref())?.id),
        };
        let agent = match &self.agent {
            Some(agent) => Some(agent_table::resolve(snapshot, actor, project, agent)?.id),
            None => None,
        };
        let chosen = Chosen {
            project,
            agent,
            state: self.state,
        };
        let leases = table::page(snapshot, &chosen, self.after.get(), self.limit.and_one())?;
        let now = snapshot.now();
        let shown = leases.into_iter().map(|lease| lease.show(now)).collect();
        Ok(Page::cut(shown, self.limit, |lease: &Reservation| {
            lease.id.get()
        }))
    }
}
