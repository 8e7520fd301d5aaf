//! What an export shows of runs: each as it stood at the export's moment, and what happened to it.

use comity_domain::{AgentId, ProjectId, RunId, Seq};

use super::export::named;
use super::run_page::{RunThen, Told};
use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::log::table as log_table;
use crate::params;
use crate::query::Query;
use crate::store::{Row, StoreError};
use crate::tx::{Read, Snapshot};

/// Asks for the next runs of a project, by their numbers.
#[derive(Clone, Copy, Debug)]
pub struct ExportRuns {
    /// The project.
    pub project: ProjectId,
    /// The run before; 0 at the start.
    pub after: RunId,
    /// The newest event that counts.
    pub until: Seq,
    /// How many at most.
    pub limit: i64,
}

/// A run to export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedRun {
    /// How it stood.
    pub run: RunThen,
    /// Who created it.
    pub by: String,
    /// How many events it had.
    pub events: i64,
    /// How many of them, the oldest, were pruned.
    pub pruned: i64,
}

/// A run of an export, or what is left of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundRun {
    /// One that can be told.
    Read(Box<ExportedRun>),
    /// One whose beginning cannot be read: its event is damaged, or of a newer program.
    Unreadable(RunId),
}

impl FoundRun {
    /// Returns its number.
    pub fn id(&self) -> RunId {
        match self {
            Self::Read(run) => run.run.id,
            Self::Unreadable(id) => *id,
        }
    }
}

impl Query for ExportRuns {
    const NAME: &'static str = "export_runs";
    const WHO: &'static [Party] = &[];
    type Answer = Vec<FoundRun>;

    fn run(&self, _: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Self::Answer, Error> {
        let numbers = snapshot.rows(
            "select id from run where project_id = ?1 and id > ?2
             order by id limit cast(?3 as bigint)",
            params![self.project, self.after, self.limit],
            Row::take::<RunId>,
        )?;
        let mut runs = Vec::new();
        for id in numbers {
            let Some(run) = RunThen::read(snapshot, id, self.until)? else {
                // Those that began later are the last ones.
                if began_after(snapshot, id, self.until)? {
                    break;
                }
                runs.push(FoundRun::Unreadable(id));
                continue;
            };
            let by = who(snapshot, self.project, run.by)?;
            let events = log_table::count_of_run(snapshot, id, self.until, i64::MAX)?;
            let pruned = log_table::pruned_of_run(snapshot, id)?;
            runs.push(FoundRun::Read(Box::new(ExportedRun {
                run,
                by,
                events,
                pruned,
            })));
        }
        Ok(runs)
    }
}

/// Tells whether all that happened to a run came later.
fn began_after(read: &mut impl Read, run: RunId, until: Seq) -> Result<bool, StoreError> {
    let had_begun = log_table::count_of_run(read, run, until, 1)? > 0;
    let end = Seq::new(i64::MAX);
    Ok(!had_begun && log_table::count_of_run(read, run, end, 1)? > 0)
}

/// Asks for the next things that happened to a run, in their order.
#[derive(Clone, Copy, Debug)]
pub struct ExportSteps {
    /// The project that is exported: names in it are written short.
    pub project: ProjectId,
    /// The run.
    pub run: RunId,
    /// The event before; 0 at the start.
    pub after: Seq,
    /// The newest event that counts.
    pub until: Seq,
    /// How many at most.
    pub limit: i64,
}

/// One thing that happened to a run, to export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedStep {
    /// What happened.
    pub told: Told,
    /// Who did it.
    pub who: String,
}

impl Query for ExportSteps {
    const NAME: &'static str = "export_steps";
    const WHO: &'static [Party] = &[];
    type Answer = Vec<ExportedStep>;

    fn run(&self, _: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Self::Answer, Error> {
        let page = log_table::of_run(snapshot, self.run, self.after, self.until, self.limit)?;
        let mut steps = Vec::new();
        for told in page.into_iter().map(Told::of) {
            let who = match told.agent() {
                None => told.party().to_owned(),
                agent => who(snapshot, self.project, agent)?,
            };
            steps.push(ExportedStep { told, who });
        }
        Ok(steps)
    }
}

/// Names somebody as seen from a project; nobody is the operator.
fn who(
    read: &mut impl Read,
    project: ProjectId,
    agent: Option<AgentId>,
) -> Result<String, StoreError> {
    let name = read.row(
        "select a.name, p.slug from agent a
         left join project p on p.id = a.project_id and p.id <> ?1 where a.id = ?2",
        params![project, agent],
        named,
    )?;
    Ok(name.unwrap_or_else(|| "operator".to_owned()))
}
