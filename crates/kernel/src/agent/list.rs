//! Lists the agents of a project.

use comity_domain::limits::LABEL_BYTES_MAX;
use comity_domain::{Line, Span, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::table::{self, AgentSeen};
use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::page::{After, Limit, Page};
use crate::project::ProjectRef;
use crate::project::table as project_table;
use crate::query::Query;
use crate::tx::{Read, Snapshot};

/// Lists a project's agents that are not retired, in the order they came.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListAgents {
    /// The project's key or slug; an agent's own unless given.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// Only those heard of within this time.
    #[serde(default)]
    pub active_within: Option<Span>,
    /// Only those with this capability.
    #[serde(default)]
    pub capability: Option<Line<LABEL_BYTES_MAX>>,
    /// How many at most.
    #[serde(default)]
    pub limit: Limit,
    /// The `next` of the page before.
    #[serde(default)]
    pub after: After,
}

impl Query for ListAgents {
    const NAME: &'static str = "list_agents";
    const WHO: &'static [Party] = &[Party::Operator, Party::Agent, Party::Observer];
    type Answer = Page<AgentSeen>;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Page<AgentSeen>, Error> {
        let project = project_table::resolve(snapshot, actor, self.project.as_ref())?.id;
        let heard_since = self
            .active_within
            .map(|span| snapshot.now().at.micros().saturating_sub(span.micros()))
            .map(Timestamp::from_micros);
        let mut found = Vec::new();
        let mut after = self.after.get();
        // The filters look at what is only in memory, so pages are read until enough fit.
        while found.len() <= self.limit.get() {
            let read = table::page(snapshot, project, after, self.limit.and_one())?;
            let Some(last) = read.last() else { break };
            after = last.agent.id.get();
            found.extend(read.into_iter().filter(|seen| self.fits(seen, heard_since)));
        }
        Ok(Page::cut(found, self.limit, |seen| seen.agent.id.get()))
    }
}

impl ListAgents {
    fn fits(&self, seen: &AgentSeen, heard_since: Option<Timestamp>) -> bool {
        seen.agent.retired_at.is_none()
            && heard_since.is_none_or(|since| seen.last_seen >= since)
            && self
                .capability
                .as_ref()
                .is_none_or(|wanted| seen.agent.profile.capabilities.contains(&**wanted))
    }
}
