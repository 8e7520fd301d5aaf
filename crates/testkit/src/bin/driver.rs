//! The kernel in a process of its own, so that it can be killed.
//!
//! `driver sqlite PATH` or `driver postgres URL`, with `upgrade` behind it to add two steps to the
//! schema. It prints `ready` once the kernel is open, then takes one command per line on standard
//! input, `{"caller":"3","id":"c3-17","op":"register_agent","request":{},"key":"c3-17"}`, and
//! prints one line per answer when it arrives: `{"id":"c3-17","ok":{"seq":9}}` or
//! `{"id":"c3-17","error":"busy"}`. The id goes into the log as the correlation of the command's
//! events. It ends when standard input does and everybody is answered. Failpoints come from
//! `COMITY_FAILPOINTS`.
//!
//! `doctor` and `backup`, with a path as their request, stand beside the operations.

use std::io::{BufRead as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use comity_kernel::actor::{Correlation, IdempotencyKey};
use comity_kernel::operation::{self, Call};
use comity_kernel::{Actor, Caller, Error, Kernel, Options};
use comity_testkit::crash::{Target, with_upgrade};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// How many commands may be under way; further lines wait in the pipe.
const IN_FLIGHT_MAX: usize = 256;

/// One line of standard input.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    /// Whose line it is; only the one who reads the answers cares.
    #[serde(rename = "caller")]
    _caller: String,
    id: String,
    op: String,
    request: Value,
    key: Option<String>,
}

fn main() -> ExitCode {
    let ended = options().and_then(|options| {
        let kernel = Kernel::open(options).map_err(|error| describe(&error))?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .map_err(|error| error.to_string())?;
        runtime
            .block_on(serve(&kernel))
            .map_err(|error| error.to_string())?;
        kernel.stop();
        Ok(())
    });
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("driver: {what}");
            ExitCode::FAILURE
        }
    }
}

fn options() -> Result<Options, String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (target, upgrade) = match words.as_slice() {
        [engine, place] => (Target::parse(engine, place), false),
        [engine, place, "upgrade"] => (Target::parse(engine, place), true),
        _ => (None, false),
    };
    let target = target.ok_or("usage: driver sqlite PATH | postgres URL [upgrade]")?;
    let mut options = target.options();
    if upgrade {
        with_upgrade(&mut options);
    }
    Ok(options)
}

fn describe(error: &Error) -> String {
    format!("{}: {error}", error.code().word)
}

/// Reads lines, starts calls and prints answers as they come, until the input ends.
async fn serve(kernel: &Kernel) -> std::io::Result<()> {
    print_line("ready")?;
    let mut lines = read_lines();
    let mut calls: JoinSet<(String, Result<Value, Error>)> = JoinSet::new();
    loop {
        tokio::select! {
            line = lines.recv(), if calls.len() < IN_FLIGHT_MAX => match line {
                Some(text) => {
                    let (id, call) = start(kernel, &text);
                    calls.spawn(async move { (id, call.await.map(|outcome| outcome.answer)) });
                }
                None => break,
            },
            Some(done) = calls.join_next() => answer(done)?,
        }
    }
    while let Some(done) = calls.join_next().await {
        answer(done)?;
    }
    Ok(())
}

/// Reads standard input on a thread of its own: reading blocks.
fn read_lines() -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel(IN_FLIGHT_MAX);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// Starts what a line asks for; the id is empty where the line cannot be read.
fn start(kernel: &Kernel, text: &str) -> (String, Call) {
    let line: Line = match serde_json::from_str(text) {
        Ok(line) => line,
        Err(error) => {
            let reason = error.to_string();
            return (String::new(), finished(Err(Error::NotJson { reason })));
        }
    };
    let call = match line.op.as_str() {
        "doctor" | "backup" => finished(beside(kernel, &line)),
        op => match operation::find(op).and_then(|found| Ok((found, caller(&line)?))) {
            Ok((operation, caller)) => (operation.call)(kernel, caller, line.request),
            Err(error) => finished(Err(error)),
        },
    };
    (line.id, call)
}

fn caller(line: &Line) -> Result<Caller, Error> {
    let rule = |rule| Error::invalid("line", rule);
    let correlation = Correlation::parse(line.id.as_str()).map_err(rule)?;
    let caller = Caller::from(Actor::OPERATOR).with_correlation(correlation);
    Ok(match &line.key {
        Some(key) => caller.with_key(IdempotencyKey::parse(key.as_str()).map_err(rule)?),
        None => caller,
    })
}

/// Runs what has no operation; nothing else happens meanwhile.
fn beside(kernel: &Kernel, line: &Line) -> Result<Value, Error> {
    let path = Path::new(line.request.as_str().unwrap_or_default());
    if line.op == "backup" {
        return Ok(json!({ "backup": kernel.backup(path)? }));
    }
    Ok(serde_json::to_value(kernel.doctor(path)?)?)
}

fn finished(answer: Result<Value, Error>) -> Call {
    Box::pin(async move {
        answer.map(|answer| operation::Outcome {
            replayed: false,
            answer,
            secret: None,
        })
    })
}

type Joined = Result<(String, Result<Value, Error>), tokio::task::JoinError>;

fn answer(done: Joined) -> std::io::Result<()> {
    let (id, outcome) = done.map_err(std::io::Error::other)?;
    let line = match outcome {
        Ok(answer) => json!({ "id": id, "ok": answer }),
        Err(error) => json!({ "id": id, "error": error.code().word }),
    };
    print_line(&line.to_string())
}

fn print_line(line: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}
