//! The keeper: a small process between a worker and the command it runs, so that nothing of the
//! command outlives its claim.
//!
//! Everything that the command starts belongs to the keeper in the end, whether or not it changed
//! its session or its parents ended (`PR_SET_CHILD_SUBREAPER`): when the keeper has no children,
//! nothing is left. It ends everything when the claim is over by the clock, when the deadline comes,
//! when the worker says so, and when the worker is gone, however that ended.
//!
//! Its stdin is the worker's orders, its stdout what it answers, and its stderr, which it gives to
//! the command as stdout and stderr, the output.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use clap::Args;
use comity_kernel::Error;
use rustix::process::{WaitOptions, WaitStatus, getpid, set_child_subreaper, setsid, wait};
use serde::{Deserialize, Serialize};
use tokio::signal::unix::{SignalKind, signal};

use super::clock::Moment;
use super::tree;
use crate::door::runtime;
use crate::failure::Failure;
use crate::output;

/// How long between two looks at a tree that is being killed.
const KILL_EVERY: Duration = Duration::from_millis(10);
/// How long what may not be signalled may take to end by itself; less than a worker waits.
const STUCK: Duration = Duration::from_secs(3);
/// How long it sleeps at most: what it sleeps by stands still while the machine sleeps, and the
/// claim's clock does not.
const NAP: Duration = Duration::from_secs(1);

/// Runs a command until it ends or must end.
#[derive(Args)]
pub(crate) struct Keep {
    /// When the claim is over.
    #[arg(long, value_parser = Moment::parse)]
    until: Moment,
    /// When the work must be done.
    #[arg(long, value_parser = Moment::parse)]
    deadline: Option<Moment>,
    /// How long the command may take to end by itself, in milliseconds.
    #[arg(long)]
    grace_ms: u64,
    /// What the command reads.
    #[arg(long)]
    prompt: PathBuf,
    /// The command.
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// What a worker tells a keeper.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Order {
    /// The claim lasts until then.
    Until(Moment),
    /// Let the command end by itself, for the grace.
    Terminate,
    /// End it at once.
    Kill,
}

/// What a keeper tells its worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Word {
    /// The command cannot be run.
    Cannot(String),
    /// Nothing of the command is left.
    Ended(End),
    /// Nothing is left but what may not be signalled, by its numbers.
    Stuck(End, Vec<i32>),
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct End {
    /// Why.
    pub(super) cause: Cause,
    /// Its exit code.
    pub(super) code: Option<i32>,
    /// The signal that ended it.
    pub(super) signal: Option<i32>,
}

/// Why a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Cause {
    /// By itself.
    Itself,
    /// Its deadline came.
    Deadline,
    /// Its claim was over.
    Lost,
    /// The worker said so.
    Told,
}

/// What a keeper waits for.
enum Event {
    Told(Order),
    WorkerGone,
    Reaped(i32, WaitStatus),
    NothingLeft,
}

/// A keeper at work.
struct Keeper {
    until: Moment,
    deadline: Option<Moment>,
    grace: Duration,
    command: i32,
    status: Option<WaitStatus>,
    cause: Option<Cause>,
    kill_at: Option<Moment>,
    /// What is left and may not be killed, and when it is given up.
    stuck: Option<(Moment, Vec<i32>)>,
}

impl Keep {
    /// Keeps the command, and tells what became of it.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        be_deaf()?;
        // Away from the worker's terminal, whose signals are the worker's to handle.
        let apart = setsid().map(|_| ());
        apart
            .and_then(|()| set_child_subreaper(Some(getpid())))
            .map_err(Error::internal)?;
        let (events, incoming) = mpsc::channel();
        let orders = events.clone();
        std::thread::spawn(move || listen(&orders));
        tell(&self.keep(events, &incoming));
        Ok(())
    }

    /// Runs the command to its end, if it is to run at all.
    fn keep(&self, events: Sender<Event>, incoming: &Receiver<Event>) -> Word {
        let mut keeper = Keeper {
            until: self.until,
            deadline: self.deadline,
            grace: Duration::from_millis(self.grace_ms),
            command: 0,
            status: None,
            cause: None,
            kill_at: None,
            stuck: None,
        };
        if let Err(cause) = keeper.may_start(incoming) {
            keeper.cause = Some(cause);
            return Word::Ended(keeper.end());
        }
        keeper.command = match self.start() {
            Ok(command) => command,
            Err(error) => return Word::Cannot(error.to_string()),
        };
        std::thread::spawn(move || reap(&events));
        loop {
            match incoming.recv_timeout(keeper.patience()) {
                Ok(Event::NothingLeft) | Err(RecvTimeoutError::Disconnected) => break,
                Ok(event) => keeper.take(&event),
                Err(RecvTimeoutError::Timeout) => {}
            }
            keeper.act();
            if let Some((_, pids)) = keeper.stuck.take_if(|(over, _)| over.is_past()) {
                return Word::Stuck(keeper.end(), pids);
            }
        }
        Word::Ended(keeper.end())
    }

    /// Starts the command in a process group of its own.
    fn start(&self) -> io::Result<i32> {
        let Some((program, arguments)) = self.command.split_first() else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let output = || io::stderr().as_fd().try_clone_to_owned().map(Stdio::from);
        let child = Command::new(program)
            .args(arguments)
            .stdin(File::open(&self.prompt)?)
            .stdout(output()?)
            .stderr(output()?)
            .process_group(0)
            .spawn()?;
        Ok(i32::try_from(child.id()).unwrap_or(0))
    }
}

impl Keeper {
    /// Waits until the worker says how long the claim lasts: one that is gone says nothing. Returns
    /// why nothing is to be started, if so.
    fn may_start(&mut self, incoming: &Receiver<Event>) -> Result<(), Cause> {
        while !self.until.is_past() {
            match incoming.recv_timeout(self.until.left().min(NAP)) {
                Ok(Event::Told(Order::Until(until))) => {
                    self.until = until;
                    return if until.is_past() {
                        Err(Cause::Lost)
                    } else {
                        Ok(())
                    };
                }
                Ok(Event::Told(Order::Terminate | Order::Kill)) => return Err(Cause::Told),
                Ok(_) | Err(RecvTimeoutError::Disconnected) => return Err(Cause::Lost),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        Err(Cause::Lost)
    }

    fn take(&mut self, event: &Event) {
        match event {
            Event::Told(Order::Until(until)) => self.until = *until,
            Event::Told(Order::Terminate) => self.terminate(Cause::Told),
            Event::Told(Order::Kill) => self.kill(Cause::Told),
            Event::WorkerGone => self.kill(Cause::Lost),
            Event::Reaped(pid, status) if *pid == self.command => {
                self.status = Some(*status);
                // What it left behind goes with it.
                self.kill(Cause::Itself);
            }
            Event::Reaped(..) | Event::NothingLeft => {}
        }
    }

    /// Does what the clock says.
    fn act(&mut self) {
        if self.until.is_past() {
            self.kill(Cause::Lost);
        } else if self.deadline.is_some_and(Moment::is_past) && self.kill_at.is_none() {
            self.terminate(Cause::Deadline);
        }
        if self.kill_at.is_some_and(Moment::is_past) {
            let left = tree::kill(tree::below_this);
            self.is_left(left.iter().map(|process| process.pid).collect());
        }
    }

    /// Takes note of what is left and may not be killed; it may take its time to end by itself.
    fn is_left(&mut self, pids: Vec<i32>) {
        let since = self.stuck.take().map(|(over, _)| over);
        if !pids.is_empty() {
            let over = since.unwrap_or_else(|| Moment::now().after(STUCK));
            self.stuck = Some((over, pids));
        }
    }

    fn patience(&self) -> Duration {
        let next = match self.kill_at {
            Some(kill_at) if kill_at.is_past() => return KILL_EVERY,
            Some(kill_at) => Some(kill_at),
            None => self.deadline,
        };
        let next = next.map_or(self.until, |next| next.min(self.until));
        next.left().min(NAP)
    }

    fn terminate(&mut self, cause: Cause) {
        if self.kill_at.is_none() {
            self.cause.get_or_insert(cause);
            self.kill_at = Some(Moment::now().after(self.grace));
            tree::terminate(&tree::below_this());
        }
    }

    fn kill(&mut self, cause: Cause) {
        self.cause.get_or_insert(cause);
        let now = Moment::now();
        self.kill_at = Some(self.kill_at.map_or(now, |kill_at| kill_at.min(now)));
    }

    fn end(&self) -> End {
        End {
            cause: self.cause.unwrap_or(Cause::Itself),
            code: self.status.and_then(WaitStatus::exit_status),
            signal: self.status.and_then(WaitStatus::terminating_signal),
        }
    }
}

/// Lets the signals that end others pass: a keeper goes by its orders, and the command must have its
/// grace even if everything is told to end at once.
///
/// They are heard and not ignored, because the command would inherit that; what is ignored already
/// is so for the command, too.
fn be_deaf() -> Result<(), Failure> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    let is_ignored = |kind: SignalKind| {
        let bit = 1_u64.checked_shl(kind.as_raw_value().unsigned_abs() - 1);
        ignored.unwrap_or(0) & bit.unwrap_or(0) != 0
    };
    let runtime = runtime()?;
    let _inside = runtime.enter();
    let kinds = [
        SignalKind::terminate(),
        SignalKind::interrupt(),
        SignalKind::hangup(),
    ];
    for kind in kinds.into_iter().filter(|kind| !is_ignored(*kind)) {
        // It is never taken back, though nobody listens.
        drop(signal(kind).map_err(Error::internal)?);
    }
    Ok(())
}

fn tell(word: &Word) {
    // A worker that is gone hears nothing.
    if let Ok(word) = serde_json::to_value(word) {
        output::line(&word);
    }
}

/// Hears the worker, until it is gone.
fn listen(events: &Sender<Event>) {
    for line in io::stdin().lock().lines() {
        let order = line.ok().and_then(|line| serde_json::from_str(&line).ok());
        let Some(order) = order else {
            break;
        };
        if events.send(Event::Told(order)).is_err() {
            return;
        }
    }
    let _ = events.send(Event::WorkerGone);
}

/// Takes note of every process that ends, until none is left.
fn reap(events: &Sender<Event>) {
    loop {
        let event = match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) => Event::Reaped(pid.as_raw_nonzero().get(), status),
            Ok(None) | Err(rustix::io::Errno::INTR) => continue,
            Err(_) => Event::NothingLeft,
        };
        let is_over = matches!(event, Event::NothingLeft);
        if events.send(event).is_err() || is_over {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_not_be_killed_is_given_up_in_the_end() {
        let mut keeper = Keeper {
            until: Moment::now(),
            deadline: None,
            grace: Duration::ZERO,
            command: 0,
            status: None,
            cause: None,
            kill_at: None,
            stuck: None,
        };
        keeper.is_left(vec![7, 8]);
        let (over, _) = keeper.stuck.clone().unwrap();
        assert!(over.left() <= STUCK);
        keeper.is_left(vec![8]);
        assert_eq!(keeper.stuck, Some((over, vec![8])));
        // Something else can be killed again: there is hope.
        keeper.is_left(Vec::new());
        assert_eq!(keeper.stuck, None);
    }
}
