//! `comity contact`.

use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;
use comity_domain::limits::TASK_BYTES_MAX;
use comity_domain::{Address, ContactId, Prose, Timestamp};
use comity_kernel::contact::answer::Verdict;
use comity_kernel::contact::{AnswerContact, ListContacts, RequestContact};
use comity_kernel::{Command as _, Query as _};

use super::paging::Paging;
use crate::failure::Failure;
use crate::parse::{json, text, word};
use crate::session::Context;
use crate::show::{Column, Shown};
use crate::token_file;

const COLUMNS: &[Column] = &[
    Column::text("id"),
    Column::text("sender"),
    Column::text("agent"),
    Column::text("state"),
    Column::time("created_at"),
    Column::text("until"),
    Column::text("reason"),
];

/// Contacts.
#[derive(Subcommand)]
pub(crate) enum ContactCommand {
    /// Ask an agent whether you may write to it.
    Request(Request),
    /// Approve or refuse a sender; the operator may for any agent.
    Answer(Answer),
    /// List those you asked and those who asked you; the operator sees all.
    List(List),
}

#[derive(Args)]
#[command(
    after_help = "Example: comity contact request Green --reason 'Your tests use my parser.'"
)]
pub(crate) struct Request {
    /// The agent, as you would write to it: a name, `name@project`, or a number.
    #[arg(value_parser = text::<Address>, add = ArgValueCandidates::new(token_file::agents))]
    agent: Address,
    /// Why.
    #[arg(long, value_parser = text::<Prose<TASK_BYTES_MAX>>)]
    reason: Option<Prose<TASK_BYTES_MAX>>,
}

#[derive(Args)]
pub(crate) struct Answer {
    /// The contact's number.
    #[arg(value_parser = json::<ContactId>)]
    id: ContactId,
    /// Whether the sender may write.
    #[arg(value_name = "ANSWER", value_parser = word::<Verdict>(&["approve", "refuse"]))]
    verdict: Verdict,
    /// Until when the approval holds, such as `2026-01-31T09:00:00Z`: for good unless given.
    #[arg(long, value_name = "TIME", value_parser = text::<Timestamp>)]
    until: Option<Timestamp>,
}

#[derive(Args)]
pub(crate) struct List {
    #[command(flatten)]
    paging: Paging,
}

impl ContactCommand {
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        match self {
            Self::Request(request) => request.run(context),
            Self::Answer(answer) => answer.run(context),
            Self::List(list) => list.run(context),
        }
    }
}

impl Request {
    fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = RequestContact {
            agent: self.agent.clone(),
            reason: self.reason.clone(),
        };
        let answer = context.session()?.call(RequestContact::NAME, &request)?;
        Ok(Shown::entity(answer, "contact", COLUMNS))
    }
}

impl Answer {
    fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = AnswerContact {
            id: self.id,
            answer: self.verdict,
            until: self.until,
        };
        let answer = context.session()?.call(AnswerContact::NAME, &request)?;
        Ok(Shown::entity(answer, "contact", COLUMNS))
    }
}

impl List {
    fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = ListContacts {
            limit: self.paging.limit(),
            after: self.paging.after(),
        };
        let answer = context.session()?.call(ListContacts::NAME, &request)?;
        Ok(Shown::table(answer, COLUMNS))
    }
}
