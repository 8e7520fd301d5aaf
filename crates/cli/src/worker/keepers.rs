//! The keepers of a worker, one for each command that runs.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, WaitOptions, waitpid};

use super::capture::Capture;
use super::clock::Moment;
use super::folder::Files;
use super::keeper::{Order, Word};
use super::tree::{self, NONCE, Process};

/// This program, even if its file was replaced meanwhile.
const PROGRAM: &str = "/proc/self/exe";
/// How long what a keeper left may take to end.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(10);

/// A command that is to be run.
pub(super) struct Plan<'a> {
    pub(super) command: &'a [OsString],
    pub(super) files: &'a Files,
    /// What its environment has, or must not have.
    pub(super) environment: Vec<(&'static str, Option<OsString>)>,
    pub(super) nonce: &'a str,
    /// When the claim is over.
    pub(super) until: Moment,
    pub(super) deadline: Option<Moment>,
    pub(super) grace: Duration,
}

/// The keepers that live.
#[derive(Clone)]
pub(super) struct Keepers {
    known: Arc<Mutex<BTreeMap<u32, Orders>>>,
    /// What was below this process before there was any keeper: no keeper left it.
    earlier: Arc<BTreeSet<Process>>,
}

/// A keeper with its command.
pub(super) struct Kept {
    keeper: Child,
    orders: Orders,
    words: Receiver<Word>,
    /// What the command writes.
    pub(super) capture: Capture,
}

/// The way to tell a keeper something.
#[derive(Clone)]
struct Orders(Arc<Mutex<ChildStdin>>);

impl Keepers {
    /// Takes note of what runs already, before the first keeper is started.
    pub(super) fn new() -> Self {
        Self {
            known: Arc::default(),
            earlier: Arc::new(tree::below_this().into_iter().collect()),
        }
    }

    /// Starts a keeper and the command below it.
    pub(super) fn start(&self, plan: &Plan<'_>) -> io::Result<Kept> {
        let (output, writer) = io::pipe()?;
        let capture = Capture::start(output, &plan.files.log)?;
        let mut command = keep(plan);
        command.stderr(writer);
        // Nobody may take a keeper for a stray before it is known.
        let mut known = self.lock();
        let mut keeper = command.spawn()?;
        let pipes = keeper.stdin.take().zip(keeper.stdout.take());
        let Some((stdin, stdout)) = pipes else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let orders = Orders(Arc::new(Mutex::new(stdin)));
        // It starts the command when it has heard this.
        orders.tell(Order::Until(plan.until));
        known.insert(keeper.id(), orders.clone());
        let (heard, words) = mpsc::channel();
        std::thread::spawn(move || hear(stdout, &heard));
        Ok(Kept {
            keeper,
            orders,
            words,
            capture,
        })
    }

    /// Tells all of them something.
    pub(super) fn tell_all(&self, order: Order) {
        for orders in self.lock().values() {
            orders.tell(order);
        }
    }

    /// Buries a keeper; if it did not say that nothing is left, ends what it left.
    pub(super) fn bury(&self, mut kept: Kept, last: Option<&Word>) -> Capture {
        let mut known = self.lock();
        if last.is_none() {
            let _ = kept.keeper.kill();
        }
        let _ = kept.keeper.wait();
        known.remove(&kept.keeper.id());
        drop(known);
        if last.is_none() {
            self.end_strays();
        }
        kept.capture
    }

    /// Ends everything below this process that no living keeper answers for and that was not there
    /// before them, and takes note of its end.
    fn end_strays(&self) {
        let over = Moment::now().after(PATIENCE);
        loop {
            let strays = self.strays();
            if strays.is_empty() || over.is_past() {
                return;
            }
            tree::kill(|| self.strays());
            std::thread::sleep(PAUSE);
            for stray in strays {
                if let Some(pid) = Pid::from_raw(stray.pid) {
                    let _ = waitpid(Some(pid), WaitOptions::NOHANG);
                }
            }
        }
    }

    fn strays(&self) -> Vec<Process> {
        // Meanwhile none is started that is not known yet.
        let known = self.lock();
        let is_known = |pid: i32| u32::try_from(pid).is_ok_and(|pid| known.contains_key(&pid));
        tree::children_but(|child| is_known(child.pid) || self.earlier.contains(&child))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u32, Orders>> {
        // Each change is one step: one that broke off changed nothing.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// Names the keeper.
    pub(super) fn process(&self) -> Option<Process> {
        Process::of(self.keeper.id())
    }

    /// Tells the keeper something.
    pub(super) fn tell(&self, order: Order) {
        self.orders.tell(order);
    }

    /// Waits for the keeper's last word. A keeper that is gone has none.
    pub(super) fn listen(&self, patience: Duration) -> Result<Option<Word>, RecvTimeoutError> {
        match self.words.recv_timeout(patience) {
            Ok(word) => Ok(Some(word)),
            Err(RecvTimeoutError::Disconnected) => Ok(None),
            Err(RecvTimeoutError::Timeout) => Err(RecvTimeoutError::Timeout),
        }
    }
}

impl Orders {
    fn tell(&self, order: Order) {
        let mut stdin = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(mut line) = serde_json::to_vec(&order) {
            line.push(b'\n');
            // A keeper that is gone needs no orders.
            let _ = stdin.write_all(&line);
        }
    }
}

/// The command line of a keeper.
fn keep(plan: &Plan<'_>) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(["dispatch", "keep", "--until", &plan.until.to_string()]);
    command.args(["--grace-ms", &plan.grace.as_millis().to_string()]);
    if let Some(deadline) = plan.deadline {
        command.args(["--deadline", &deadline.to_string()]);
    }
    command.arg("--prompt").arg(&plan.files.prompt);
    command.arg("--").args(plan.command);
    command.env(NONCE, plan.nonce);
    for (name, value) in &plan.environment {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

fn hear(stdout: ChildStdout, words: &Sender<Word>) {
    for line in BufReader::new(stdout).lines() {
        let word = line.ok().and_then(|line| serde_json::from_str(&line).ok());
        let Some(word) = word else {
            return;
        };
        if words.send(word).is_err() {
            return;
        }
    }
}
