//! Tells how a project stands.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::table::{self, Project, ProjectRef};
use crate::actor::{Actor, Party};
use crate::agent;
use crate::error::Error;
use crate::mail;
use crate::query::Query;
use crate::reservation::table as leases;
use crate::run::table as runs;
use crate::tx::Snapshot;

/// Asks how a project stands.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProjectStatusQuery {
    /// The project's key or slug; an agent's own unless given.
    #[serde(default)]
    pub project: Option<ProjectRef>,
}

/// How a project stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ProjectStatus {
    /// The project.
    pub project: Project,
    /// How many agents it has that are not retired.
    pub agents: i64,
    /// How many of its agents are retired.
    pub agents_retired: i64,
    /// How many messages its agents have not read.
    pub unread: i64,
    /// How many leases on files are held.
    pub leases: i64,
    /// How many runs go on or rest.
    pub runs: i64,
}

impl Query for ProjectStatusQuery {
    const NAME: &'static str = "project_status";
    const WHO: &'static [Party] = &[Party::Operator, Party::Agent, Party::Observer];
    type Answer = ProjectStatus;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<ProjectStatus, Error> {
        let project = table::resolve(snapshot, actor, self.project.as_ref())?;
        let (agents, agents_retired) = agent::table::counts(snapshot, project.id)?;
        let unread = mail::table::unread_in(snapshot, project.id)?;
        let leases = leases::count_in(snapshot, project.id)?;
        let runs = runs::count_live(snapshot, project.id)?;
        Ok(ProjectStatus {
            project,
            agents,
            agents_retired,
            unread,
            leases,
            runs,
        })
    }
}
