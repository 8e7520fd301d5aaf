//! Finds the run that a project is at.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::status::{RunStatus, now};
use super::table;
use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::project::table::{self as project_table, ProjectRef};
use crate::query::Query;
use crate::tx::Snapshot;

/// Finds the newest run of a project that goes on or rests.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CurrentRun {
    /// The project's key or slug; an agent's own unless given.
    #[serde(default)]
    pub project: Option<ProjectRef>,
}

impl Query for CurrentRun {
    const NAME: &'static str = "current_run";
    const WHO: &'static [Party] = &[Party::Operator, Party::Agent, Party::Observer];
    type Answer = RunStatus;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<RunStatus, Error> {
        let project = project_table::resolve(snapshot, actor, self.project.as_ref())?;
        let run = table::current(snapshot, project.id)?
            .ok_or_else(|| Error::not_found("run that goes on in project", &project.slug))?;
        now(snapshot, run)
    }
}
