//! `comity mail`.

mod attachment;
pub(crate) mod boxes;
mod content;
mod forward;
mod inbox;
mod mark;
mod overdue;
mod reply;
mod send;
mod sent;
mod show;
mod thread;
pub(crate) mod waiting;

use clap::Subcommand;

use crate::failure::Failure;
use crate::session::Context;
use crate::show::Shown;

/// Mail.
#[derive(Subcommand)]
pub(crate) enum MailCommand {
    /// Send a message to agents, to the operator, or to everybody.
    Send(send::Send),
    /// Answer a message: to its sender, or to those it was for where you sent it yourself.
    Reply(reply::Reply),
    /// Pass a message on to others, with what it carries and a word of your own.
    Forward(forward::Forward),
    /// List what you got, the newest first. Listing is not reading.
    Inbox(inbox::Inbox),
    /// Show one message that you sent or got. Showing is not reading.
    Show(show::Show),
    /// Mark messages as read; the first time counts.
    Read(mark::Read),
    /// Acknowledge messages, which also reads them, and tell their senders.
    Ack(mark::Ack),
    /// List the threads you have a part in, those with the newest message first.
    Threads(thread::Threads),
    /// Show a whole conversation, as far as you sent or got its messages.
    Thread(thread::Thread),
    /// Sum a thread up: who takes part, how much there is, what is open, the last word.
    Summary(thread::Summary),
    /// List acknowledgements that were asked for and not given.
    Overdue(overdue::Overdue),
    /// Keep a file to attach to messages, and print its SHA-256.
    Attach(attachment::Attach),
    /// Fetch what a message carries.
    Fetch(attachment::Fetch),
}

impl MailCommand {
    /// Runs the command; bytes that went to stdout are all it shows.
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<Option<Shown>, Failure> {
        let shown = match self {
            Self::Send(send) => send.run(context),
            Self::Reply(reply) => reply.run(context),
            Self::Forward(forward) => forward.run(context),
            Self::Inbox(inbox) => inbox.run(context),
            Self::Show(show) => show.run(context),
            Self::Read(read) => read.run(context),
            Self::Ack(ack) => ack.run(context),
            Self::Threads(threads) => threads.run(context),
            Self::Thread(thread) => thread.run(context),
            Self::Summary(summary) => summary.run(context),
            Self::Overdue(overdue) => overdue.run(context),
            Self::Attach(attach) => attach.run(context),
            Self::Fetch(fetch) => return fetch.run(context),
        };
        shown.map(Some)
    }
}
