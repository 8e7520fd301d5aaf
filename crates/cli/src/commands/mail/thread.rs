//! `comity mail threads`, `comity mail thread` and `comity mail summary`.

use clap::Args;
use clap_complete::ArgValueCandidates;
use comity_domain::MessageId;
use comity_kernel::Query as _;
use comity_kernel::mail::inbox::BoxRef;
use comity_kernel::mail::table::Detail;
use comity_kernel::mail::{self, ThreadSummary};

use super::boxes;
use crate::commands::paging::Paging;
use crate::failure::Failure;
use crate::parse::{json, text, word};
use crate::session::Context;
use crate::show::{Column, Shown, View, conversation, summary};
use crate::token_file;

const LIST: &[Column] = &[
    Column::text("id"),
    Column::text("unread"),
    Column::time("last_at"),
    Column::text("last_from"),
    Column::text("project"),
    Column::text("subject"),
];

/// Lists threads.
#[derive(Args)]
pub(crate) struct Threads {
    /// Whose: your own unless given. The operator may look at any.
    #[arg(value_parser = text::<BoxRef>, add = ArgValueCandidates::new(token_file::agents))]
    agent: Option<BoxRef>,
    #[command(flatten)]
    paging: Paging,
}

/// Shows a thread.
#[derive(Args)]
pub(crate) struct Thread {
    /// The number of any message of the thread.
    #[arg(value_parser = json::<MessageId>)]
    id: MessageId,
    /// How much of each message: `full` unless given.
    #[arg(long, value_name = "WORD", value_parser = word::<Detail>(&["none", "preview", "full"]))]
    detail: Option<Detail>,
    #[command(flatten)]
    paging: Paging,
}

/// Sums a thread up.
#[derive(Args)]
pub(crate) struct Summary {
    /// The number of any message of the thread.
    #[arg(value_parser = json::<MessageId>)]
    id: MessageId,
}

impl Threads {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let request = mail::Threads {
            agent: self.agent.clone(),
            project: boxes::project_of(&session, [self.agent.as_ref(), None])?,
            limit: self.paging.limit(),
            after: self.paging.after(),
        };
        let answer = session.call(mail::Threads::NAME, &request)?;
        Ok(Shown::table(answer, LIST))
    }
}

impl Thread {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = mail::Thread {
            id: self.id,
            detail: self.detail.unwrap_or(Detail::Full),
            limit: self.paging.limit(),
            after: self.paging.after(),
        };
        let answer = context.session()?.call(mail::Thread::NAME, &request)?;
        let text = conversation(&answer, "the thread");
        Ok(Shown::new(answer, View::Text(text)))
    }
}

impl Summary {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = ThreadSummary { id: self.id };
        let answer = context.session()?.call(ThreadSummary::NAME, &request)?;
        let text = summary(&answer);
        Ok(Shown::new(answer, View::Text(text)))
    }
}
