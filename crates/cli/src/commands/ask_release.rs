//! `comity ask-release` and `comity answer-release`.

use clap::Args;
use comity_domain::limits::TASK_BYTES_MAX;
use comity_domain::{ReleaseRequestId, ReservationId, Span, Text};
use comity_kernel::Command as _;
use comity_kernel::reservation::request::Verdict;
use comity_kernel::reservation::{AnswerRelease as Answer, Reason, RequestRelease};

use crate::failure::Failure;
use crate::parse::{json, text, word};
use crate::session::Context;
use crate::show::{Column, Shown};

const COLUMNS: &[Column] = &[
    Column::text("id"),
    Column::text("reservation_id"),
    Column::text("path_pattern"),
    Column::text("held_by"),
    Column::text("requested_by"),
    Column::text("reason"),
    Column::text("answer"),
    Column::text("eta_ms"),
    Column::text("thread_id"),
    Column::time("created_at"),
];

/// Asks the holder of a lease to release it.
#[derive(Args)]
#[command(
    after_help = "The holder gets mail; its answer comes to your inbox. Asking again changes nothing.\n\
    Example: comity ask-release 7 --reason 'my fix needs one line in it'"
)]
pub(crate) struct AskRelease {
    /// The lease's number, as a conflict or `comity leases` shows it.
    #[arg(value_parser = json::<ReservationId>)]
    id: ReservationId,
    /// Why you need it.
    #[arg(long, value_parser = text::<Text<TASK_BYTES_MAX>>)]
    reason: Text<TASK_BYTES_MAX>,
}

/// Answers somebody who asked for a lease of yours.
#[derive(Args)]
#[command(after_help = "Example: comity answer-release 3 defer --eta 20m --note 'after the tests'")]
pub(crate) struct AnswerRelease {
    /// The request's number, as the mail says it.
    #[arg(value_parser = json::<ReleaseRequestId>)]
    id: ReleaseRequestId,
    /// `release` gives the lease back at once, `defer` keeps it for now.
    #[arg(value_name = "ANSWER", value_parser = word::<Verdict>(&["release", "defer"]))]
    verdict: Verdict,
    /// With `defer`, when you expect to be done.
    #[arg(long, value_name = "TIME", value_parser = text::<Span>)]
    eta: Option<Span>,
    /// A word to whoever asked.
    #[arg(long, value_name = "TEXT", value_parser = text::<Reason>)]
    note: Option<Reason>,
}

impl AskRelease {
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = RequestRelease {
            id: self.id,
            reason: self.reason.clone(),
        };
        let answer = context.session()?.call(RequestRelease::NAME, &request)?;
        Ok(Shown::entity(answer, "release_request", COLUMNS))
    }
}

impl AnswerRelease {
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = Answer {
            id: self.id,
            answer: self.verdict,
            eta: self.eta,
            note: self.note.clone(),
        };
        let answer = context.session()?.call(Answer::NAME, &request)?;
        Ok(Shown::entity(answer, "release_request", COLUMNS))
    }
}
