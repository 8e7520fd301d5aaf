//! `comity mail overdue`.

use clap::Args;
use comity_domain::Span;
use comity_kernel::Query as _;
use comity_kernel::mail::OverdueAcks;

use crate::commands::paging::Paging;
use crate::failure::Failure;
use crate::parse::text;
use crate::session::Context;
use crate::show::{Column, Shown};

const LIST: &[Column] = &[
    Column::text("message_id"),
    Column::time("created_at"),
    Column::text("from"),
    Column::text("waiting_for"),
    Column::text("subject"),
];

/// Lists acknowledgements that are overdue.
#[derive(Args)]
#[command(after_help = "Example: comity mail overdue --older-than 30m")]
pub(crate) struct Overdue {
    /// How long ago the message was sent at least; any time unless given.
    #[arg(long, value_name = "TIME", value_parser = text::<Span>)]
    older_than: Option<Span>,
    #[command(flatten)]
    paging: Paging,
}

impl Overdue {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let request = OverdueAcks {
            project: session.project()?,
            older_than: self.older_than,
            limit: self.paging.limit(),
            after: self.paging.after(),
        };
        let answer = session.call(OverdueAcks::NAME, &request)?;
        Ok(Shown::table(answer, LIST))
    }
}
