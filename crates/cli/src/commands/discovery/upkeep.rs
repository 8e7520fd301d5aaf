//! `comity discovery decay` and `roll-back`.

use clap::Args;
use comity_domain::{Score, Span, Timestamp};
use comity_kernel::Command as _;
use comity_kernel::discovery::{self, RollBackSource, Source};

use crate::failure::Failure;
use crate::parse::{json, text};
use crate::session::Context;
use crate::show::{Shown, View, discoveries};

/// Takes a part of the score of old discoveries.
#[derive(Args)]
#[command(after_help = "Example: comity discovery decay --rate 0.1 --min-age 7d --period 1d")]
pub(crate) struct Decay {
    /// What part of the score is taken, above 0 and up to 1.
    #[arg(long, value_name = "0..1", value_parser = json::<Score>)]
    rate: Score,
    /// How old a discovery must be.
    #[arg(long, value_name = "TIME", value_parser = text::<Span>)]
    min_age: Span,
    /// How long a period is; a discovery decays once in it, however often this is called.
    #[arg(long, value_name = "TIME", value_parser = text::<Span>)]
    period: Span,
}

/// Dismisses what a source brought.
#[derive(Args)]
#[command(after_help = "Example: comity discovery roll-back arxiv --since 2026-11-15T09:00:00Z")]
pub(crate) struct RollBack {
    /// The source.
    #[arg(value_parser = text::<Source>)]
    source: Source,
    /// What was submitted then or later is dismissed, unless it is settled.
    #[arg(long = "since", value_name = "TIME", value_parser = text::<Timestamp>)]
    since_time: Timestamp,
}

impl Decay {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let request = discovery::Decay {
            project: session.project()?,
            rate: self.rate,
            min_age: self.min_age,
            period: self.period,
        };
        let answer = session.call(discovery::Decay::NAME, &request)?;
        let text = discoveries::decayed(&answer);
        Ok(Shown::new(answer, View::Text(text)))
    }
}

impl RollBack {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let request = RollBackSource {
            project: session.project()?,
            source: self.source.clone(),
            since_time: self.since_time,
        };
        let answer = session.call(RollBackSource::NAME, &request)?;
        let text = discoveries::rolled_back(&answer);
        Ok(Shown::new(answer, View::Text(text)))
    }
}
