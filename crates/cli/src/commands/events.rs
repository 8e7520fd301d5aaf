//! `comity events`.

mod append;
mod choosing;
mod consumer;
mod hook;
mod list;
mod prune;
mod redact;
mod tail;

use clap::Subcommand;

use crate::failure::Failure;
use crate::session::Context;
use crate::show::Shown;

/// Events.
#[derive(Subcommand)]
pub(crate) enum EventsCommand {
    /// List what happened, a page at a time, the oldest first.
    List(list::List),
    /// Show what happened last, and follow what happens.
    Tail(tail::Tail),
    /// Append an event of your own to a stream of your own.
    Append(append::Append),
    /// Read a stream.
    Stream(append::Stream),
    /// Take what somebody wrote out of an event, for ever.
    Redact(redact::Redact),
    /// Leave the oldest part of the log to the archive alone.
    Prune(prune::Prune),
    /// Consumers: programs that read the log from a place that is kept for them.
    #[command(subcommand)]
    Consumer(consumer::ConsumerCommand),
    /// Hooks: services and programs that are told what happens.
    #[command(subcommand)]
    Hook(hook::HookCommands),
}

impl EventsCommand {
    /// Runs the command; a tail has shown everything when it ends.
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<Option<Shown>, Failure> {
        let shown = match self {
            Self::List(list) => list.run(context),
            Self::Tail(tail) => return tail.run(context).map(|()| None),
            Self::Append(append) => append.run(context),
            Self::Stream(stream) => stream.run(context),
            Self::Redact(redact) => redact.run(context),
            Self::Prune(prune) => prune.run(context),
            Self::Consumer(consumer) => consumer.run(context),
            Self::Hook(hook) => hook.run(context),
        };
        shown.map(Some)
    }
}
