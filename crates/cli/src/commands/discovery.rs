//! `comity discovery`.

mod judge;
mod look;
mod profile;
mod search;
mod submit;
mod upkeep;

use clap::{Args, Subcommand};
use comity_domain::DiscoveryId;
use serde_json::Value;

use crate::failure::Failure;
use crate::parse::json;
use crate::session::Context;
use crate::show::{Shown, View, discoveries};

/// Discoveries.
#[derive(Subcommand)]
pub(crate) enum DiscoveryCommand {
    /// Submit something worth knowing.
    Submit(submit::Submit),
    /// List discoveries, the newest first.
    List(look::List),
    /// Find discoveries by what they say.
    Search(search::Search),
    /// Show one discovery, with its whole summary and what people thought of it.
    Show(Named),
    /// Say what a discovery is worth, or let the interest profile say it.
    Score(judge::Score),
    /// Note that a discovery became work.
    Promote(judge::Promote),
    /// Put a discovery aside for good.
    Dismiss(judge::Dismiss),
    /// Say what a discovery was good for.
    Feedback(judge::Feedback),
    /// Take a part of the score of old discoveries, once per period.
    Decay(upkeep::Decay),
    /// Dismiss what a source brought since a time.
    RollBack(upkeep::RollBack),
    /// Show what the project is interested in, or change it.
    Profile(profile::Profile),
}

/// A discovery, by its number.
#[derive(Args)]
pub(crate) struct Named {
    /// The discovery's number.
    #[arg(value_name = "DISCOVERY", value_parser = json::<DiscoveryId>)]
    id: DiscoveryId,
}

impl DiscoveryCommand {
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        match self {
            Self::Submit(submit) => submit.run(context),
            Self::List(list) => list.run(context),
            Self::Search(search) => search.run(context),
            Self::Show(named) => look::show(named, context),
            Self::Score(score) => score.run(context),
            Self::Promote(promote) => promote.run(context),
            Self::Dismiss(dismiss) => dismiss.run(context),
            Self::Feedback(feedback) => feedback.run(context),
            Self::Decay(decay) => decay.run(context),
            Self::RollBack(roll_back) => roll_back.run(context),
            Self::Profile(profile) => profile.run(context),
        }
    }
}

/// Shows a discovery that was changed.
fn changed(answer: Value) -> Shown {
    let text = discoveries::line(&answer);
    Shown::new(answer, View::Text(text))
}
