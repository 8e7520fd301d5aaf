//! The only file that writes to stdout and stderr and chooses exit codes.

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use comity_domain::Seq;
use indicatif::{ProgressBar, ProgressFinish};
use serde_json::{Value, json};
use tracing_subscriber::EnvFilter;

use crate::cli::Cli;
use crate::failure::Failure;
use crate::globals::{Globals, variable};
use crate::hook::Verdict;
use crate::show::{Look, Shown, gates, harmless, harmless_json, leases};

/// Exit code of a wrong command line.
const USAGE: u8 = 3;
/// Exit code of a hook that blocks what a client program wants to do.
const HOOK_BLOCKS: u8 = 2;
/// Exit code of a hook that could not do its part.
const HOOK_FAILED: u8 = 1;
const RED: Style = AnsiColor::Red.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
const CYAN: Style = AnsiColor::Cyan.on_default();

/// How a command's end is told.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// For people.
    People,
    /// One JSON document.
    Json,
    /// Errors only, for people.
    Quiet,
}

impl Form {
    /// Returns the form the options ask for; `--json` is an answer too, so it wins.
    pub(crate) fn of(globals: &Globals) -> Self {
        match (globals.json, globals.quiet) {
            (true, _) => Self::Json,
            (false, true) => Self::Quiet,
            (false, false) => Self::People,
        }
    }
}

/// Prints how a command ended, and chooses the exit code.
pub(crate) fn finish(form: Form, done: Result<Option<Shown>, Failure>) -> ExitCode {
    let failure = match done {
        Ok(None) => None,
        Ok(Some(shown)) => {
            print(form, &shown);
            shown.failure
        }
        Err(failure) => Some(failure),
    };
    match failure {
        Some(failure) => {
            complain(form, &failure.body);
            ExitCode::from(failure.exit)
        }
        None => ExitCode::SUCCESS,
    }
}

fn print(form: Form, shown: &Shown) {
    let text = match form {
        Form::Quiet => return,
        Form::Json => shown.document(),
        Form::People if std::io::stdout().is_terminal() => shown.render(Look::Terminal),
        Form::People => shown.render(Look::Plain),
    };
    // A reader that went away, as `head` does, is not our failure.
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}

fn complain(form: Form, body: &Value) {
    let mut stderr = anstream::stderr().lock();
    if form == Form::Json {
        let _ = writeln!(stderr, "{}", harmless_json(&body.to_string()));
        return;
    }
    let text = |field: &str| body.get(field).and_then(Value::as_str).unwrap_or_default();
    let (message, hint) = (harmless(text("message")), harmless(text("hint")));
    let _ = writeln!(stderr, "{RED}error:{RED:#} {message}");
    if let Some(holders) = leases::holders(body) {
        let _ = writeln!(stderr, "{holders}");
    }
    if let Some(checks) = gates::refused(body) {
        let _ = writeln!(stderr, "{checks}");
    }
    if !hint.is_empty() {
        let _ = writeln!(stderr, "{CYAN}hint:{CYAN:#} {hint}");
    }
}

/// Tells a client program what to do: 0 lets pass, 2 blocks, 1 lets pass with a warning.
pub(crate) fn tell(form: Form, verdict: &Verdict) -> ExitCode {
    let (body, exit) = match verdict {
        Verdict::Pass => return ExitCode::SUCCESS,
        Verdict::Block(body) => (body, HOOK_BLOCKS),
        Verdict::Failed(body) => (body, HOOK_FAILED),
    };
    let message = body.get("message").and_then(Value::as_str);
    let message = message.unwrap_or_default();
    match (form, exit) {
        (Form::Json, _) => complain(Form::Json, body),
        (Form::People | Form::Quiet, HOOK_BLOCKS) => explain(&[message.to_owned()]),
        (Form::People | Form::Quiet, _) => warn(&format!("comity let this pass: {message}")),
    }
    ExitCode::from(exit)
}

/// Prints what clap has to say, and chooses the exit code.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    if std::env::args_os().any(|argument| argument == "--json") {
        let said = error.to_string();
        let message = said.lines().next().unwrap_or_default();
        let message = message.trim_start_matches("error: ");
        let hint = "see `comity --help`";
        complain(
            Form::Json,
            &json!({ "error": "invalid", "message": message, "hint": hint }),
        );
    } else {
        let _ = error.print();
    }
    let is_failed_hook = Cli::is_hook();
    ExitCode::from(if is_failed_hook { HOOK_FAILED } else { USAGE })
}

/// Prints a line of JSON at once, for programs that wait for it.
pub(crate) fn line(value: &Value) {
    let mut stdout = std::io::stdout().lock();
    let _ = writeln!(stdout, "{value}").and_then(|()| stdout.flush());
}

/// Prints a line at once, and tells whether anybody still reads.
pub(crate) fn is_heard(text: &str) -> bool {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{text}")
        .and_then(|()| stdout.flush())
        .is_ok()
}

/// Prints lines for people at once.
pub(crate) fn say(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = writeln!(stdout, "{text}").and_then(|()| stdout.flush());
}

/// Writes bytes as they are, for a file or a program.
pub(crate) fn bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::unusable(
            format!("stdout cannot be written: {error}"),
        )),
        _ => Ok(()),
    }
}

/// Prints one line of warning beside the answer.
pub(crate) fn warn(text: &str) {
    let mut stderr = anstream::stderr().lock();
    let _ = writeln!(stderr, "{YELLOW}warning:{YELLOW:#} {}", harmless(text));
}

/// Prints lines of explanation beside the answer.
pub(crate) fn explain(lines: &[String]) {
    let mut stderr = anstream::stderr().lock();
    for line in lines {
        let _ = writeln!(stderr, "{}", harmless(line));
    }
}

/// Shows that long work goes on, on a terminal only, until it is dropped.
pub(crate) fn spinner(form: Form, what: &'static str) -> ProgressBar {
    let spinner = match form {
        Form::People => ProgressBar::new_spinner(),
        Form::Json | Form::Quiet => ProgressBar::hidden(),
    };
    spinner.enable_steady_tick(Duration::from_millis(100));
    spinner
        .with_message(what)
        .with_finish(ProgressFinish::AndClear)
}

/// Shows how far long work has come, on a terminal only, until it is dropped.
pub(crate) fn bar(form: Form, what: &'static str) -> ProgressBar {
    let bar = match form {
        Form::People => ProgressBar::new(0),
        Form::Json | Form::Quiet => ProgressBar::hidden(),
    };
    bar.with_message(what).with_finish(ProgressFinish::AndClear)
}

/// Moves a bar to one of so many events.
pub(crate) fn advance(bar: &ProgressBar, at: Seq, of: Seq) {
    bar.set_length(of.get().unsigned_abs());
    bar.set_position(at.get().unsigned_abs());
}

/// How the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people.
    Text,
    /// Lines of JSON.
    Json,
}

/// Sends the log to stderr: what `usual` lets pass, unless `COMITY_LOG` says otherwise of the same.
///
/// Of `rmcp` nothing but errors passes, or nothing at all, unless it is named: it logs whole requests.
pub(crate) fn start_logging(usual: &str, format: LogFormat) {
    let said = variable("COMITY_LOG").unwrap_or_default();
    let filter = EnvFilter::try_new(format!("{usual},{said}"));
    let filter = filter.unwrap_or_else(|_| EnvFilter::new(usual));
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal() && !plain);
    match format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().init(),
    }
}
