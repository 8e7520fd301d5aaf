//! `comity run`.

mod agent;
mod approve;
mod artifact;
mod create;
mod end;
mod look;
mod steer;
mod update;
mod verdict;

use clap::{Args, Subcommand};
use comity_domain::RunId;
use serde_json::Value;

use crate::failure::Failure;
use crate::parse::json;
use crate::session::Context;
use crate::show::{Shown, View, runs};

/// Runs.
#[derive(Subcommand)]
pub(crate) enum RunCommand {
    /// Begin a run in its first phase.
    Create(create::Create),
    /// List runs, the newest first.
    List(look::List),
    /// Show how a run stands: its phase, what its gate says, its work, its tokens.
    Status(look::Status),
    /// Show the run that this project is at.
    Current,
    /// Tell what happened to a run, decision by decision.
    Timeline(look::Timeline),
    /// Move a run to its next phase, if its gate lets it.
    Advance(steer::Advance),
    /// Let a run jump a phase that lies ahead.
    Skip(steer::Skip),
    /// Take a run back to an earlier phase.
    RollBack(steer::RollBack),
    /// Let a run rest: it does not move, and nothing of it is handed out.
    Pause(steer::Pause),
    /// Let a run that rests go on.
    Resume(steer::Resume),
    /// Give a run up, with everything below it.
    Cancel(end::Cancel),
    /// Say that a run came to nothing.
    Fail(end::Fail),
    /// Change a run's goal, limits or data.
    Update(update::Update),
    /// Artifacts: what the phases of a run leave behind.
    #[command(subcommand)]
    Artifact(artifact::ArtifactCommand),
    /// Agents that take part in a run.
    #[command(subcommand)]
    Agent(agent::AgentCommand),
    /// Judge the work of the phase that a run is in.
    Verdict(verdict::Judge),
    /// List the verdicts on a run.
    Verdicts(verdict::Verdicts),
    /// Say that the phase a run is in may be left.
    Approve(approve::Approve),
    /// List the approvals of a run.
    Approvals(approve::Approvals),
}

/// A run, by its number.
#[derive(Args)]
pub(crate) struct Named {
    /// The run's number.
    #[arg(value_name = "RUN", value_parser = json::<RunId>)]
    pub(crate) run: RunId,
}

impl RunCommand {
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        match self {
            Self::Create(create) => create.run(context),
            Self::List(list) => list.run(context),
            Self::Status(status) => status.run(context),
            Self::Current => look::current(context),
            Self::Timeline(timeline) => timeline.run(context),
            Self::Advance(advance) => advance.run(context),
            Self::Skip(skip) => skip.run(context),
            Self::RollBack(back) => back.run(context),
            Self::Pause(pause) => pause.run(context),
            Self::Resume(resume) => resume.run(context),
            Self::Cancel(cancel) => cancel.run(context),
            Self::Fail(fail) => fail.run(context),
            Self::Update(update) => update.run(context),
            Self::Artifact(artifact) => artifact.run(context),
            Self::Agent(agent) => agent.run(context),
            Self::Verdict(judge) => judge.run(context),
            Self::Verdicts(verdicts) => verdicts.run(context),
            Self::Approve(approve) => approve.run(context),
            Self::Approvals(approvals) => approvals.run(context),
        }
    }
}

impl Named {
    /// Says what to do about a refusal.
    pub(crate) fn advise(&self, failure: Failure) -> Failure {
        let next = runs::next_step(&failure.body, self.run);
        failure.advised(next)
    }
}

/// Shows a run that was changed.
pub(crate) fn changed(answer: Value) -> Shown {
    let text = runs::changed(&answer);
    Shown::new(answer, View::Text(text))
}
