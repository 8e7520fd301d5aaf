//! `comity search`.

use clap::Args;
use clap_complete::ArgValueCandidates;
use comity_domain::{MessageId, Timestamp};
use comity_kernel::Query as _;
use comity_kernel::mail;
use comity_kernel::mail::inbox::BoxRef;
use comity_kernel::store::search::Ranking;

use super::mail::boxes;
use super::paging::Paging;
use crate::failure::Failure;
use crate::parse::{json, text};
use crate::session::Context;
use crate::show::{Shown, View, listing};
use crate::token_file;

/// Finds messages by their words.
#[derive(Args)]
#[command(
    after_help = "All of it must match: words, \"a phrase\", -without, begin*, from:Name, subject:word.\n\
    Example: comity search --newest -- '\"parser test\"' -flaky from:Green"
)]
pub(crate) struct Search {
    /// What to look for; after `--` words may begin with `-`.
    #[arg(required = true)]
    query: Vec<String>,
    /// Only the mail of this agent: your own unless you are the operator.
    #[arg(long, value_name = "AGENT", value_parser = text::<BoxRef>,
        add = ArgValueCandidates::new(token_file::agents))]
    agent: Option<BoxRef>,
    /// Only messages of this thread.
    #[arg(long, value_name = "ID", value_parser = json::<MessageId>)]
    thread: Option<MessageId>,
    /// Only what this agent sent, or `operator`.
    #[arg(long, value_name = "AGENT", value_parser = text::<BoxRef>)]
    from: Option<BoxRef>,
    /// Only what was sent at this time or later, such as `2026-01-31T09:00:00Z`.
    #[arg(long, value_name = "TIME", value_parser = text::<Timestamp>)]
    from_time: Option<Timestamp>,
    /// Only what was sent before this time.
    #[arg(long, value_name = "TIME", value_parser = text::<Timestamp>)]
    until_time: Option<Timestamp>,
    /// The newest first, page by page, instead of the best on one page.
    #[arg(long)]
    newest: bool,
    #[command(flatten)]
    paging: Paging,
}

impl Search {
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let request = mail::Search {
            query: self.query.join(" "),
            project: boxes::project_of(&session, [self.agent.as_ref(), self.from.as_ref()])?,
            agent: self.agent.clone(),
            thread: self.thread,
            from: self.from.clone(),
            from_time: self.from_time,
            until_time: self.until_time,
            order: if self.newest {
                Ranking::Newest
            } else {
                Ranking::Rank
            },
            limit: self.paging.limit(),
            after: self.paging.after(),
        };
        let answer = session.call(mail::Search::NAME, &request)?;
        let text = listing::hits(&answer);
        Ok(Shown::new(answer, View::Text(text)))
    }
}
