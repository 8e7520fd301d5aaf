//! `comity dispatch`.

mod claim;
mod create;
mod end;
mod look;
mod wait;
mod work;

use clap::{Args, Subcommand};
use comity_domain::DispatchId;
use serde_json::Value;

use crate::failure::Failure;
use crate::parse::json;
use crate::session::Context;
use crate::show::{Shown, View, dispatches};
use crate::worker::{Exec, Keep};

/// Dispatches.
#[derive(Subcommand)]
pub(crate) enum DispatchCommand {
    /// Hand out work: whoever is of the right kind may claim it.
    Create(create::Create),
    /// List dispatches, the newest first.
    List(look::List),
    /// Show one dispatch, with its whole prompt and its result.
    Status(Named),
    /// Sum up a group of dispatches.
    Group(look::Group),
    /// Claim work for one of your kinds, if there is any.
    Claim(claim::Claim),
    /// Say that you begin with what you claimed.
    Start(work::Start),
    /// Keep what you claimed longer.
    Extend(work::Extend),
    /// Say how far you are, and how many tokens it used.
    Report(work::Report),
    /// Settle what you claimed, once and for ever.
    Finish(work::Finish),
    /// Give work up, whether or not somebody has it in hand.
    Cancel(end::Cancel),
    /// Try again what failed or timed out.
    Retry(Named),
    /// Wait until a dispatch is settled.
    Wait(wait::Wait),
    /// Claim work and run a command for each piece of it.
    Exec(Exec),
    /// Run one command below a worker.
    #[command(hide = true)]
    Keep(Keep),
}

/// A dispatch, by its number.
#[derive(Args)]
pub(crate) struct Named {
    /// The dispatch's number.
    #[arg(value_name = "DISPATCH", value_parser = json::<DispatchId>)]
    id: DispatchId,
}

impl DispatchCommand {
    /// Runs the command; a worker shows nothing at its end.
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<Option<Shown>, Failure> {
        let shown = match self {
            Self::Create(create) => create.run(context),
            Self::List(list) => list.run(context),
            Self::Status(named) => look::status(named, context),
            Self::Group(group) => group.run(context),
            Self::Claim(claim) => claim.run(context),
            Self::Start(start) => start.run(context),
            Self::Extend(extend) => extend.run(context),
            Self::Report(report) => report.run(context),
            Self::Finish(finish) => finish.run(context),
            Self::Cancel(cancel) => cancel.run(context),
            Self::Retry(named) => end::retry(named, context),
            Self::Wait(wait) => wait.run(context),
            Self::Exec(exec) => return exec.run(context).map(|()| None),
            // It runs before there is a context.
            Self::Keep(_) => return Ok(None),
        };
        shown.map(Some)
    }
}

/// Shows a dispatch that was changed.
fn changed(answer: Value) -> Shown {
    let text = dispatches::line(&answer);
    Shown::new(answer, View::Text(text))
}
