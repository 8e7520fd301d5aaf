//! `comity dispatch start`, `extend`, `report` and `finish`.

use clap::Args;
use comity_domain::limits::PROGRESS_BYTES_MAX;
use comity_domain::{Line, Outcome, Seq, Ttl, Verdict};
use comity_kernel::Command as _;
use comity_kernel::dispatch::{ExtendDispatch, FinishDispatch, ReportDispatch, StartDispatch};
use comity_kernel::run::Words;
use serde_json::Value;

use super::{Named, changed};
use crate::commands::source::document;
use crate::failure::Failure;
use crate::parse::{json, text, word};
use crate::session::Context;
use crate::show::Shown;

/// By what right somebody speaks of a dispatch.
#[derive(Args)]
struct Right {
    /// The claim's fence; its claimant must give it.
    #[arg(long, value_name = "N", value_parser = json::<Seq>)]
    fence: Option<Seq>,
    /// The revision you know; the operator must give it for another's claim.
    #[arg(long, value_name = "N")]
    revision: Option<i64>,
}

/// Begins.
#[derive(Args)]
pub(crate) struct Start {
    #[command(flatten)]
    named: Named,
    #[command(flatten)]
    right: Right,
}

/// Keeps it longer.
#[derive(Args)]
pub(crate) struct Extend {
    #[command(flatten)]
    named: Named,
    /// How long from now, 1 s to 24 h: 5 minutes unless given. A claim is never shortened.
    #[arg(long, value_name = "TIME", value_parser = text::<Ttl>)]
    lease: Option<Ttl>,
    #[command(flatten)]
    right: Right,
}

/// Tells how far it is.
#[derive(Args)]
pub(crate) struct Report {
    #[command(flatten)]
    named: Named,
    /// How many tokens it has used in total, never fewer than before.
    #[arg(long, value_name = "N")]
    tokens: Option<i64>,
    /// How far it is.
    #[arg(long, value_parser = text::<Line<PROGRESS_BYTES_MAX>>)]
    progress: Option<Line<PROGRESS_BYTES_MAX>>,
    #[command(flatten)]
    right: Right,
}

/// Settles it.
#[derive(Args)]
#[command(
    after_help = "The same report again changes nothing; another one is refused.\n\
    Example: comity dispatch finish 12 completed --fence 340 --verdict pass --summary 'All good.'"
)]
pub(crate) struct Finish {
    #[command(flatten)]
    named: Named,
    /// How it went.
    #[arg(value_parser = word::<Outcome>(&["completed", "failed"]))]
    outcome: Outcome,
    /// What you think of the work; it counts while the run is in the phase it was made in.
    #[arg(long, value_parser = word::<Verdict>(&["pass", "warn", "fail", "reject"]))]
    verdict: Option<Verdict>,
    /// What you have to say.
    #[arg(long, value_parser = text::<Words>)]
    summary: Option<Words>,
    /// What came of it: a file of JSON, `-` for stdin, or JSON.
    #[arg(long, value_name = "FILE|-|JSON")]
    result: Option<String>,
    #[command(flatten)]
    right: Right,
}

impl Start {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = StartDispatch {
            id: self.named.id,
            fence: self.right.fence,
            expected_revision: self.right.revision,
        };
        let session = context.session()?;
        Ok(changed(session.call(StartDispatch::NAME, &request)?))
    }
}

impl Extend {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = ExtendDispatch {
            id: self.named.id,
            lease: self.lease,
            fence: self.right.fence,
            expected_revision: self.right.revision,
        };
        let session = context.session()?;
        Ok(changed(session.call(ExtendDispatch::NAME, &request)?))
    }
}

impl Report {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = ReportDispatch {
            id: self.named.id,
            tokens: self.tokens,
            progress: self.progress.clone(),
            fence: self.right.fence,
            expected_revision: self.right.revision,
        };
        let session = context.session()?;
        Ok(changed(session.call(ReportDispatch::NAME, &request)?))
    }
}

impl Finish {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let result = self.result.as_ref();
        let result: Option<Value> = result.map(|it| document("--result", it)).transpose()?;
        let request = FinishDispatch {
            id: self.named.id,
            outcome: self.outcome,
            verdict: self.verdict,
            summary: self.summary.clone(),
            result,
            fence: self.right.fence,
            expected_revision: self.right.revision,
        };
        let session = context.session()?;
        Ok(changed(session.call(FinishDispatch::NAME, &request)?))
    }
}
