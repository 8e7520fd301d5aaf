//! `comity dispatch exec`.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt as _;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use clap::Args;
use comity_domain::{Span, Ttl};
use comity_kernel::Error;
use comity_kernel::datadir::DataDir;
use comity_kernel::run::AgentKind;
use rustix::process::{getpid, set_child_subreaper};
use serde_json::json;

use super::desk::Desk;
use super::folder::Folder;
use super::keepers::Keepers;
use super::shown::Progress;
use super::stop::{INTERRUPTED, Stop, Stopped};
use super::worker::{Patience, Tally, Worker};
use crate::failure::Failure;
use crate::output::Form;
use crate::parse::text;
use crate::session::Context;

/// Exit code of an expected no.
const NO: u8 = 1;
/// Commands at once.
const PARALLEL_MAX: u16 = 64;
/// How long a claim that is on its way is waited for when the worker stops.
const CLAIM_LATE: Duration = Duration::from_millis(1_500);

/// Claims work and runs a command for each piece of it.
#[derive(Args)]
#[command(
    after_help = "The command reads the prompt on stdin and in $COMITY_PROMPT_FILE, and may write\n\
    {\"verdict\":…,\"summary\":…,\"tokens\":…,\"result\":…} to $COMITY_RESULT_FILE. Exit code 0 is completed,\n\
    everything else failed. It ends with 0 if all it did was completed, and with 1 if there was nothing to do.\n\
    Example: comity dispatch exec --as Blue --kind coder --loop -- ./run-agent.sh"
)]
pub(crate) struct Exec {
    /// A kind of agent that this is; may be given several times.
    #[arg(long = "kind", value_name = "KIND", required = true, value_parser = text::<AgentKind>)]
    kinds: Vec<AgentKind>,
    /// How many commands run at once.
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u16).range(1..=i64::from(PARALLEL_MAX)))]
    parallel: u16,
    /// Wait for more work when there is none, until told to stop.
    #[arg(long = "loop")]
    looping: bool,
    /// How long a claim lasts unless it is kept, which it is every third of it.
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = text::<Ttl>)]
    lease: Ttl,
    /// How long a command may take to end when it is told to.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = text::<Span>)]
    grace: Span,
    /// The command and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// What the worker's threads tell its first one.
enum News {
    Stopping,
    Ended(Result<Tally, Failure>),
}

impl Exec {
    /// Works until there is nothing to do, or with `--loop` until told to stop.
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<(), Failure> {
        if context.globals.key.is_some() {
            let rule = "does not go with `dispatch exec`: every call has a key of its own";
            return Err(Error::invalid("--key", rule).into());
        }
        if let Some(program) = self.command.first() {
            must_be_runnable(program)?;
        }
        let worker = Arc::new(self.worker(context)?);
        // What a keeper leaves when it dies is this process's then, and nobody else's.
        set_child_subreaper(Some(getpid())).map_err(Error::internal)?;
        let (told, news) = mpsc::channel();
        let stopping = told.clone();
        worker.stop.listen(worker.keepers.clone(), move || {
            let _ = stopping.send(News::Stopping);
        })?;
        worker.sweep()?;
        let patience = if self.looping {
            Patience::Loop
        } else {
            Patience::Once
        };
        for _ in 0..self.parallel {
            let (worker, told) = (Arc::clone(&worker), told.clone());
            std::thread::spawn(move || {
                let _ = told.send(News::Ended(unbroken(|| worker.serve(patience))));
            });
        }
        drop(told);
        let tally = gather(&worker, &news, usize::from(self.parallel))?;
        self.conclude(worker.stop.asked(), tally)
    }

    fn worker(&self, context: &Context<'_>) -> Result<Worker, Failure> {
        let data = DataDir::open(&context.directory)?;
        let folder = Folder::of(data.path()).map_err(|error| {
            Failure::unusable(format!("the directory of outputs cannot be made: {error}"))
        })?;
        let desk = Desk::new(context)?;
        let project = desk.project()?;
        Ok(Worker {
            desk,
            folder,
            keepers: Keepers::new(),
            stop: Stop::default(),
            shown: Progress::new(Form::of(context.globals)),
            command: self.command.clone(),
            kinds: self.kinds.clone(),
            project,
            lease: self.lease,
            grace: Duration::from_micros(self.grace.micros().unsigned_abs()),
            turn: Mutex::new(()),
            busy: AtomicUsize::new(0),
        })
    }

    fn conclude(&self, stopped: Option<Stopped>, tally: Tally) -> Result<(), Failure> {
        let no = |exit: u8, code: &str, message: &str, hint: &str| {
            let body = json!({ "error": code, "message": message, "hint": hint });
            Err(Failure {
                exit,
                ..Failure::answered(body)
            })
        };
        match stopped {
            Some(Stopped::Interrupted) => {
                let hint = "what it had in hand was ended and reported as failed";
                no(
                    INTERRUPTED,
                    "interrupted",
                    "the worker was interrupted",
                    hint,
                )
            }
            Some(Stopped::Told | Stopped::Broken) => Ok(()),
            None if self.looping || (tally.others == 0 && tally.completed > 0) => Ok(()),
            None if tally.others > 0 => {
                let hint = "`comity dispatch status` shows why, and the output is in its file";
                no(NO, "not_completed", "not everything was completed", hint)
            }
            None => {
                let hint = "`--loop` waits for work";
                no(NO, "not_found", "there is nothing to claim", hint)
            }
        }
    }
}

/// Makes a failure of a panic: a place that breaks off is waited for no more.
fn unbroken(serve: impl FnOnce() -> Result<Tally, Failure>) -> Result<Tally, Failure> {
    let broke = |_| Failure::unusable("a place of the worker broke off");
    let served = std::panic::catch_unwind(AssertUnwindSafe(serve));
    served.map_err(broke).and_then(|served| served)
}

/// Waits for the worker's places. One that only waits for work when the worker stops is left.
fn gather(worker: &Worker, news: &Receiver<News>, places: usize) -> Result<Tally, Failure> {
    let mut sum = Tally::default();
    let mut failed = None;
    let mut left = places;
    let mut stopping: Option<Instant> = None;
    while left > 0 {
        let patience = match stopping {
            Some(_) => Duration::from_millis(50),
            None => Duration::from_hours(1),
        };
        match news.recv_timeout(patience) {
            Ok(News::Stopping) => stopping = Some(Instant::now()),
            Ok(News::Ended(ended)) => {
                left -= 1;
                match ended {
                    Ok(tally) => {
                        sum.completed += tally.completed;
                        sum.others += tally.others;
                    }
                    Err(failure) => {
                        // What cannot be done here cannot be done at the other places either.
                        worker.stop.ask(Stopped::Broken);
                        stopping.get_or_insert_with(Instant::now);
                        failed.get_or_insert(failure);
                    }
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                let is_late = stopping.is_some_and(|since| since.elapsed() > CLAIM_LATE);
                if is_late && worker.busy.load(Ordering::SeqCst) == 0 {
                    break;
                }
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    failed.map_or(Ok(sum), Err)
}

/// Refuses a command that is not there, before anything is claimed for it.
fn must_be_runnable(program: &OsStr) -> Result<(), Failure> {
    let is_there = |path: &Path| {
        let metadata = std::fs::metadata(path);
        metadata.is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = if program.as_encoded_bytes().contains(&b'/') {
        is_there(Path::new(program))
    } else {
        std::env::split_paths(&path).any(|folder| is_there(&folder.join(program)))
    };
    if found {
        return Ok(());
    }
    let shown = program.to_string_lossy();
    Err(Failure::unusable(format!(
        "`{shown}` is no program that can be run"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_panics_has_failed() {
        let failure = unbroken(|| panic!("of a test")).unwrap_err();
        assert!(failure.message().contains("broke off"));
        assert!(unbroken(|| Ok(Tally::default())).is_ok());
    }
}
