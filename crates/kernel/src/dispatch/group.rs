//! Sums up a group of dispatches.

use std::collections::BTreeMap;

use comity_domain::DispatchState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Group, table};
use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::project::table::{self as project_table, ProjectRef};
use crate::query::Query;
use crate::tx::Snapshot;

/// Sums up a group of dispatches; of each piece of work its last attempt counts.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupOutcome {
    /// The project's key or slug; an agent's own unless given.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// The group.
    pub group: Group,
}

/// How a group of dispatches stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GroupSummary {
    /// The group.
    pub group: String,
    /// How many pieces of work belong to it.
    pub total: i64,
    /// Whether all of them are settled.
    pub settled: bool,
    /// The worst end so far, of completed, failed, cancelled and timed out; null before the first.
    pub outcome: Option<DispatchState>,
    /// How many are in each state.
    pub counts: BTreeMap<DispatchState, i64>,
}

impl Query for GroupOutcome {
    const NAME: &'static str = "group_outcome";
    const WHO: &'static [Party] = &[Party::Operator, Party::Agent, Party::Observer];
    type Answer = GroupSummary;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<GroupSummary, Error> {
        let project = project_table::resolve(snapshot, actor, self.project.as_ref())?;
        let found = table::count_group(snapshot, project.id, &self.group)?;
        if found.is_empty() {
            return Err(Error::not_found("group of dispatches", &self.group));
        }
        let outcome = DispatchState::worst(found.iter().map(|(state, _)| *state));
        let settled = found.iter().all(|(state, _)| state.is_final());
        let total = found.iter().map(|(_, count)| count).sum();
        let mut counts: BTreeMap<_, _> = DispatchState::ALL.map(|state| (state, 0)).into();
        counts.extend(found);
        Ok(GroupSummary {
            group: self.group.to_string(),
            total,
            settled,
            outcome,
            counts,
        })
    }
}
