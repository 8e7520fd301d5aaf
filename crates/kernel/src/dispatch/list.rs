//! Lists dispatches.

use comity_domain::{DispatchState, RunId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Group;
use super::table::{self, Chosen, Dispatch};
use crate::actor::{Actor, Party};
use crate::agent::table::{self as agent_table, AgentRef};
use crate::error::Error;
use crate::page::{After, Limit, Page};
use crate::project::table::{self as project_table, ProjectRef};
use crate::query::Query;
use crate::run::AgentKind;
use crate::tx::Snapshot;

/// Lists dispatches, the newest first, with the beginnings of their prompts and without results.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListDispatches {
    /// The project's key or slug; an agent's own unless given, and everybody else's all.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// Only those of this run.
    #[serde(default)]
    pub run: Option<RunId>,
    /// Only those in this state.
    #[serde(default)]
    pub state: Option<DispatchState>,
    /// Only those for this kind of agent.
    #[serde(default)]
    pub agent_kind: Option<AgentKind>,
    /// Only those of this group.
    #[serde(default)]
    pub group: Option<Group>,
    /// Only those that this agent claimed last, by name or number.
    #[serde(default)]
    pub claimed_by: Option<AgentRef>,
    /// How many at most.
    #[serde(default)]
    pub limit: Limit,
    /// The `next` of the page before.
    #[serde(default)]
    pub after: After,
}

impl Query for ListDispatches {
    const NAME: &'static str = "list_dispatches";
    const WHO: &'static [Party] = &[Party::Operator, Party::Agent, Party::Observer];
    type Answer = Page<Dispatch>;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Page<Dispatch>, Error> {
        let project = match &self.project {
            None => actor.project(),
            named => Some(project_table::resolve(snapshot, actor, named.as_ref())?.id),
        };
        let claimed_by = match &self.claimed_by {
            None => None,
            Some(named) => Some(agent_table::resolve(snapshot, actor, project, named)?.id),
        };
        let chosen = Chosen {
            project,
            run: self.run,
            state: self.state,
            agent_kind: self.agent_kind.as_deref(),
            group: self.group.as_deref(),
            claimed_by,
        };
        let before = match self.after.get() {
            0 => i64::MAX,
            last => last,
        };
        let found = table::page(snapshot, &chosen, before, self.limit.and_one())?;
        Ok(Page::cut(found, self.limit, |one: &Dispatch| one.id.get()))
    }
}
