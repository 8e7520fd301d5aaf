//! The only file that writes to stdout and stderr and chooses exit codes.

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use comity_kernel::Error;
use serde_json::Value;
use tracing_subscriber::EnvFilter;

use crate::Command;

/// Exit code of a wrong command line.
const USAGE: u8 = 3;

/// Prints an answer: one JSON document.
pub(crate) fn answer(answer: &Value) {
    let text = serde_json::to_string_pretty(answer).unwrap_or_default();
    // A reader that went away, as `head` does, is not our failure.
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}

/// Prints one line of JSON, for programs that wait for it.
pub(crate) fn line(value: &Value) {
    let mut stdout = std::io::stdout().lock();
    let _ = writeln!(stdout, "{value}").and_then(|()| stdout.flush());
}

/// Prints a line for people.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}

/// Prints what clap has to say, and chooses the exit code.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    if error.use_stderr() {
        return ExitCode::from(USAGE);
    }
    ExitCode::SUCCESS
}

/// Prints an error as JSON with its hint, and chooses the exit code.
pub(crate) fn exit(done: Result<(), Error>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr().lock(), "{}", error.to_json());
            ExitCode::from(error.code().exit)
        }
    }
}

/// Sends the log to stderr: everything of note while serving, otherwise only what went wrong.
pub(crate) fn start_logging(command: &Command) {
    let level = match command {
        Command::Serve(_) => "info",
        Command::Call(_) | Command::Doctor(_) | Command::Backup(_) => "error",
    };
    let filter = EnvFilter::try_from_env("COMITY_LOG").unwrap_or_else(|_| EnvFilter::new(level));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
}
