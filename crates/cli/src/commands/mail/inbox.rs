//! `comity mail inbox`.

use clap::Args;
use clap_complete::ArgValueCandidates;
use comity_domain::{Importance, MessageId, Span, Timestamp};
use comity_kernel::Error;
use comity_kernel::mail::inbox::{BoxRef, Order};
use comity_kernel::mail::table::Detail;
use comity_kernel::mail::{self, Topic};

use super::{boxes, waiting};
use crate::commands::paging::Paging;
use crate::failure::Failure;
use crate::parse::{json, text, word};
use crate::session::{Context, Session};
use crate::show::{Shown, View, conversation, listing};
use crate::token_file;

/// Lists what somebody got.
#[derive(Args)]
#[command(
    after_help = "Marks: ● not read, ! asks for an acknowledgement, ✓ acknowledged\n\
    Example: comity mail inbox --unread --importance high"
)]
pub(crate) struct Inbox {
    /// Whose: your own unless given. The operator may look into any.
    #[arg(value_parser = text::<BoxRef>, add = ArgValueCandidates::new(token_file::agents))]
    agent: Option<BoxRef>,
    /// Only what is not read.
    #[arg(long)]
    unread: bool,
    /// Only what asks for an acknowledgement that is not given.
    #[arg(long)]
    ack_pending: bool,
    /// Only what this agent sent, or `operator`.
    #[arg(long, value_name = "AGENT", value_parser = text::<BoxRef>)]
    from: Option<BoxRef>,
    /// Only what belongs to this thread.
    #[arg(long, value_name = "ID", value_parser = json::<MessageId>)]
    thread: Option<MessageId>,
    /// Only what has this topic.
    #[arg(long, value_parser = text::<Topic>)]
    topic: Option<Topic>,
    /// Only what matters at least so much.
    #[arg(long, value_name = "WORD", value_parser = word::<Importance>(&["low", "normal", "high", "urgent"]))]
    importance: Option<Importance>,
    /// Only what was sent at this time or later, such as `2026-01-31T09:00:00Z`.
    #[arg(long, value_name = "TIME", value_parser = text::<Timestamp>)]
    from_time: Option<Timestamp>,
    /// Only what was sent before this time.
    #[arg(long, value_name = "TIME", value_parser = text::<Timestamp>)]
    until_time: Option<Timestamp>,
    /// The oldest first.
    #[arg(long)]
    oldest: bool,
    /// How much of each message: `preview` unless given.
    #[arg(long, value_name = "WORD", value_parser = word::<Detail>(&["none", "preview", "full"]))]
    detail: Option<Detail>,
    /// How long to wait for something if there is nothing, such as `30s`.
    #[arg(long, value_name = "TIME", value_parser = text::<Span>)]
    wait: Option<Span>,
    #[command(flatten)]
    paging: Paging,
}

impl Inbox {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let patience = self.wait.unwrap_or(Span::from_micros(0));
        let answer = waiting::inbox(context, patience, |session| self.request(session))?;
        let text = match self.detail {
            Some(Detail::Full) => conversation(&answer, "the list"),
            Some(Detail::None | Detail::Preview) | None => listing::inbox(&answer),
        };
        Ok(Shown::new(answer, View::Text(text)))
    }

    fn request(&self, session: &Session<'_>) -> Result<mail::Inbox, Error> {
        Ok(mail::Inbox {
            agent: boxes::whose(session, self.agent.as_ref()),
            project: boxes::project_of(session, [self.agent.as_ref(), self.from.as_ref()])?,
            unread: self.unread,
            ack_pending: self.ack_pending,
            from_time: self.from_time,
            until_time: self.until_time,
            from: self.from.clone(),
            thread: self.thread,
            topic: self.topic.clone(),
            importance: self.importance,
            order: if self.oldest {
                Order::Oldest
            } else {
                Order::Newest
            },
            detail: self.detail.unwrap_or_default(),
            wait: None,
            limit: self.paging.limit(),
            after: self.paging.after(),
        })
    }
}
