//! `comity events hook`.

use clap::{Args, Subcommand};
use comity_domain::{HookCommand, HookId, HookUrl, Seq};
use comity_kernel::hook::{AddHook, DeadLetters, ListHooks, RemoveHook, RetryDeadLetter};
use comity_kernel::{Command as _, Error, Query as _};

use super::choosing::Choosing;
use crate::commands::paging::Paging;
use crate::failure::Failure;
use crate::parse::{json, text};
use crate::session::{Context, Session};
use crate::show::{Column, Shown};

const HOOK: &[Column] = &[
    Column::text("id"),
    Column::text("url"),
    Column::text("command"),
    Column::text("filter"),
    Column::text("state"),
    Column::text("lag"),
    Column::text("waiting"),
    Column::text("dead"),
    Column::text("last_error"),
    Column::time("created_at"),
];

/// A new hook, with the secret that is shown this once.
const ADDED: &[Column] = &[
    Column::text("id"),
    Column::text("url"),
    Column::text("command"),
    Column::text("filter"),
    Column::text("since"),
    Column::text("secret"),
];

const LETTER: &[Column] = &[
    Column::text("seq"),
    Column::text("kind"),
    Column::text("subject"),
    Column::text("attempts"),
    Column::text("last_error"),
    Column::time("dead_at"),
];

/// Hooks.
#[derive(Subcommand)]
pub(crate) enum HookCommands {
    /// Have events told to a service or a program.
    #[command(
        after_help = "Example: comity events hook add --to https://ci.example/comity --kind run_advanced\n\
        The secret that signs the requests is shown this once. A running server does the telling."
    )]
    Add(Add),
    /// List hooks, and how far each has come.
    List(List),
    /// Remove a hook, with everything that waits for it.
    Remove(Remove),
    /// List what a hook was not told.
    DeadLetters(Letters),
    /// Have an event told again that was given up.
    Retry(Retry),
}

#[derive(Args)]
pub(crate) struct Add {
    /// Where events are posted; `--url` is the address of the server.
    #[arg(long, value_name = "URL", value_parser = text::<HookUrl>)]
    to: Option<HookUrl>,
    /// Run a program instead, with the event on its stdin: the words behind `--`.
    #[arg(long, conflicts_with = "to")]
    command: bool,
    /// The last event that is not told: the last that there is unless given.
    #[arg(long, value_name = "SEQ", value_parser = json::<Seq>)]
    since: Option<Seq>,
    #[command(flatten)]
    choosing: Choosing,
    /// The program, an absolute path, and its arguments.
    #[arg(last = true, value_name = "PROGRAM", requires = "command")]
    words: Vec<String>,
}

#[derive(Args)]
pub(crate) struct List {
    #[command(flatten)]
    paging: Paging,
}

#[derive(Args)]
pub(crate) struct Remove {
    /// The hook's number.
    #[arg(value_parser = json::<HookId>)]
    id: HookId,
}

#[derive(Args)]
pub(crate) struct Letters {
    /// The hook's number.
    #[arg(value_parser = json::<HookId>)]
    hook: HookId,
    #[command(flatten)]
    paging: Paging,
}

#[derive(Args)]
pub(crate) struct Retry {
    /// The hook's number.
    #[arg(value_parser = json::<HookId>)]
    hook: HookId,
    /// The event's place in the log.
    #[arg(value_parser = json::<Seq>)]
    seq: Seq,
}

impl HookCommands {
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        match self {
            Self::Add(add) => {
                let answer = session.call(AddHook::NAME, &add.request(&session)?)?;
                Ok(Shown::entity(answer, "hook", ADDED))
            }
            Self::List(list) => {
                let request = ListHooks {
                    limit: list.paging.limit(),
                    after: list.paging.after(),
                };
                let answer = session.call(ListHooks::NAME, &request)?;
                Ok(Shown::table(answer, HOOK))
            }
            Self::Remove(remove) => {
                let request = RemoveHook { id: remove.id };
                let answer = session.call(RemoveHook::NAME, &request)?;
                Ok(Shown::entity(answer, "hook", HOOK))
            }
            Self::DeadLetters(letters) => {
                let request = DeadLetters {
                    hook: letters.hook,
                    limit: letters.paging.limit(),
                    after: letters.paging.after(),
                };
                let answer = session.call(DeadLetters::NAME, &request)?;
                Ok(Shown::table(answer, LETTER))
            }
            Self::Retry(retry) => {
                let request = RetryDeadLetter {
                    hook: retry.hook,
                    seq: retry.seq,
                };
                let answer = session.call(RetryDeadLetter::NAME, &request)?;
                Ok(Shown::entity(answer, "hook", HOOK))
            }
        }
    }
}

impl Add {
    fn request(&self, session: &Session<'_>) -> Result<AddHook, Failure> {
        let command = match self.words.as_slice() {
            [] => None,
            words => {
                let command = HookCommand::parse(words.to_vec());
                Some(command.map_err(|rule| Error::invalid("command", rule))?)
            }
        };
        Ok(AddHook {
            filter: self.choosing.wanted(session)?,
            url: self.to.clone(),
            command,
            since: self.since,
        })
    }
}
