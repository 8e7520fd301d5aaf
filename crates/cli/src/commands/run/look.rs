//! `comity run list`, `status`, `current` and `timeline`.

use clap::Args;
use comity_domain::{RunId, RunState, Seq};
use comity_kernel::Query as _;
use comity_kernel::run::{CurrentRun, GetRunStatus, ListRuns, RunTimeline};
use serde_json::Value;

use super::Named;
use crate::commands::paging::Paging;
use crate::failure::Failure;
use crate::parse::{json, word};
use crate::session::Context;
use crate::show::{Shown, View, runs, timeline};

const STATES: &[&str] = &["active", "paused", "completed", "cancelled", "failed"];

/// Lists runs.
#[derive(Args)]
pub(crate) struct List {
    /// Only those in this state.
    #[arg(long, value_name = "STATE", value_parser = word::<RunState>(STATES))]
    state: Option<RunState>,
    /// Only the children of this run.
    #[arg(long, value_name = "RUN", value_parser = json::<RunId>)]
    parent: Option<RunId>,
    #[command(flatten)]
    paging: Paging,
}

/// Shows how a run stands.
#[derive(Args)]
pub(crate) struct Status {
    #[command(flatten)]
    named: Named,
    /// A place in the log: the run as it was then.
    #[arg(long, value_name = "SEQ", value_parser = json::<Seq>)]
    at: Option<Seq>,
}

/// Tells what happened to a run.
#[derive(Args)]
pub(crate) struct Timeline {
    #[command(flatten)]
    named: Named,
    #[command(flatten)]
    paging: Paging,
}

impl List {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let request = ListRuns {
            project: session.project()?,
            state: self.state,
            parent: self.parent,
            limit: self.paging.limit(),
            after: self.paging.after(),
        };
        let answer = session.call(ListRuns::NAME, &request)?;
        let text = runs::page(&answer);
        Ok(Shown::new(answer, View::Text(text)))
    }
}

impl Status {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = GetRunStatus {
            run: self.named.run,
            at: self.at,
        };
        Ok(shown(
            context.session()?.call(GetRunStatus::NAME, &request)?,
        ))
    }
}

/// Shows the run that the project is at.
pub(super) fn current(context: &Context<'_>) -> Result<Shown, Failure> {
    let session = context.session()?;
    let request = CurrentRun {
        project: session.project()?,
    };
    Ok(shown(session.call(CurrentRun::NAME, &request)?))
}

impl Timeline {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = RunTimeline {
            run: self.named.run,
            limit: self.paging.limit(),
            after: self.paging.after(),
        };
        let answer = context.session()?.call(RunTimeline::NAME, &request)?;
        let text = timeline::timeline(&answer);
        Ok(Shown::new(answer, View::Text(text)))
    }
}

fn shown(answer: Value) -> Shown {
    let text = runs::status(&answer);
    Shown::new(answer, View::Text(text))
}
