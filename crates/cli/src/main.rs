//! The `comity` command: data on stdout, everything else on stderr, exit codes that mean something.
//!
//! `cli` is the tree of commands, `commands` has one file for each. A command builds the kernel's
//! request and calls it through the one `door`; `show` and `output` print what came back.

mod cli;
mod commands;
mod config;
mod door;
mod envoy;
mod failure;
mod globals;
mod ground;
mod guard;
mod hook;
mod joining;
mod lease_file;
mod output;
mod parse;
mod place;
mod session;
mod show;
mod token_file;
mod who;
mod worker;
mod worktree;

use clap::{CommandFactory as _, Parser as _};
use clap_complete::CompleteEnv;

use crate::failure::Failure;

fn main() -> std::process::ExitCode {
    CompleteEnv::with_factory(cli::Cli::command).complete();
    match cli::Cli::try_parse() {
        Ok(mut cli) => {
            let form = output::Form::of(&cli.globals);
            let completed = cli.globals.complete();
            if let Some(hook) = cli.hook() {
                let verdict = match completed {
                    Ok(()) => hook.run(&cli.globals),
                    Err(error) => Failure::from(error).into(),
                };
                return output::tell(form, &verdict);
            }
            let done = match completed {
                Ok(()) => cli.run(),
                Err(error) => Err(error.into()),
            };
            output::finish(form, done)
        }
        Err(error) => output::usage(&error),
    }
}
