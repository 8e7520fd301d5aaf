//! `comity discovery score`, `promote`, `dismiss` and `feedback`.

use clap::Args;
use comity_domain::limits::REF_BYTES_MAX;
use comity_domain::{self as domain, Line, Signal};
use comity_kernel::Command as _;
use comity_kernel::discovery::{
    DismissDiscovery, GiveFeedback, PromoteDiscovery, ScoreDiscovery, ScoreFromProfile,
};
use comity_kernel::run::Words;

use super::{Named, changed};
use crate::failure::Failure;
use crate::parse::{json, text, word};
use crate::session::Context;
use crate::show::{Shown, View, discoveries};

const SIGNALS: &[&str] = &["useful", "not_useful", "known", "wrong"];

/// Scores a discovery.
#[derive(Args)]
#[command(after_help = "Example: comity discovery score 7 0.8")]
pub(crate) struct Score {
    #[command(flatten)]
    named: Named,
    /// What it is worth, from 0 to 1.
    #[arg(
        value_name = "0..1",
        value_parser = json::<domain::Score>,
        required_unless_present = "from_profile",
        conflicts_with = "from_profile"
    )]
    worth: Option<domain::Score>,
    /// Let the project's interest profile say what it is worth, and why.
    #[arg(long)]
    from_profile: bool,
    /// The revision you read; another one now is refused.
    #[arg(long, value_name = "N", conflicts_with = "from_profile")]
    expected_revision: Option<i64>,
}

/// Promotes a discovery.
#[derive(Args)]
#[command(after_help = "Example: comity discovery promote 7 'run 12' --threshold 0.6")]
pub(crate) struct Promote {
    #[command(flatten)]
    named: Named,
    /// The work item or run it became.
    #[arg(value_name = "REF", value_parser = text::<Line<REF_BYTES_MAX>>)]
    reference: Line<REF_BYTES_MAX>,
    /// What its score must reach; 0.5 unless given.
    #[arg(long, value_name = "0..1", value_parser = json::<domain::Score>)]
    threshold: Option<domain::Score>,
    /// Promote it whatever its score, and even without one.
    #[arg(long)]
    force: bool,
}

/// Dismisses a discovery.
#[derive(Args)]
pub(crate) struct Dismiss {
    #[command(flatten)]
    named: Named,
    /// Why.
    #[arg(long, value_parser = text::<Words>)]
    reason: Option<Words>,
}

/// Says what a discovery was good for.
#[derive(Args)]
pub(crate) struct Feedback {
    #[command(flatten)]
    named: Named,
    /// In a word.
    #[arg(value_parser = word::<Signal>(SIGNALS))]
    signal: Signal,
    /// In more words.
    #[arg(long, value_parser = text::<Words>)]
    note: Option<Words>,
}

impl Score {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let (session, id) = (context.session()?, self.named.id);
        let Some(score) = self.worth else {
            let request = ScoreFromProfile { id };
            let answer = session.call(ScoreFromProfile::NAME, &request)?;
            let text = discoveries::explained(&answer);
            return Ok(Shown::new(answer, View::Text(text)));
        };
        let request = ScoreDiscovery {
            id,
            score,
            expected_revision: self.expected_revision,
        };
        Ok(changed(session.call(ScoreDiscovery::NAME, &request)?))
    }
}

impl Promote {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = PromoteDiscovery {
            id: self.named.id,
            reference: self.reference.clone(),
            threshold: self.threshold,
            force: self.force,
        };
        let session = context.session()?;
        Ok(changed(session.call(PromoteDiscovery::NAME, &request)?))
    }
}

impl Dismiss {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = DismissDiscovery {
            id: self.named.id,
            reason: self.reason.clone(),
        };
        let session = context.session()?;
        Ok(changed(session.call(DismissDiscovery::NAME, &request)?))
    }
}

impl Feedback {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = GiveFeedback {
            id: self.named.id,
            signal: self.signal,
            note: self.note.clone(),
        };
        let session = context.session()?;
        Ok(changed(session.call(GiveFeedback::NAME, &request)?))
    }
}
