//! One run of the driver: a child process with a pipe at each end.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::{Order, Target};

/// How long anything may take before the run counts as stuck.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// How the driver is started.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The program: `env!("CARGO_BIN_EXE_driver")` of a test.
    pub driver: PathBuf,
    /// The database.
    pub target: Target,
    /// Whether the schema is upgraded.
    pub upgrade: bool,
    /// The value of `COMITY_FAILPOINTS`.
    pub failpoints: String,
    /// A program with its arguments to run the driver under, such as `strace`.
    pub under: Vec<String>,
}

impl Launch {
    /// Starts it plainly.
    pub fn new(driver: impl Into<PathBuf>, target: Target) -> Self {
        Self {
            driver: driver.into(),
            target,
            upgrade: false,
            failpoints: String::new(),
            under: Vec::new(),
        }
    }

    /// Arms failpoints.
    #[must_use]
    pub fn with_failpoints(mut self, failpoints: &str) -> Self {
        failpoints.clone_into(&mut self.failpoints);
        self
    }

    fn command(&self) -> Command {
        let mut words = self.under.clone();
        words.push(self.driver.display().to_string());
        words.extend(self.target.words());
        words.extend(self.upgrade.then(|| "upgrade".to_owned()));
        let mut words = words.into_iter();
        let mut command = Command::new(words.next().unwrap_or_default());
        command
            .args(words)
            .env("COMITY_FAILPOINTS", &self.failpoints)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        command
    }
}

/// What came out of the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A whole line.
    Line(String),
    /// Nothing, for as long as was waited.
    Silence,
    /// The process is gone, and every line it wrote was heard.
    Gone,
}

/// A running driver; dropping it kills it.
pub struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    reader: Option<JoinHandle<()>>,
    started: Instant,
}

impl Process {
    /// Starts a driver.
    pub fn start(launch: &Launch) -> Self {
        let started = Instant::now();
        let mut child = launch.command().spawn().expect("the driver starts");
        let stdin = child.stdin.take();
        let mut stdout = BufReader::new(child.stdout.take().expect("its output"));
        let (sender, lines) = mpsc::channel();
        let reader = std::thread::spawn(move || {
            let mut line = String::new();
            // A line that was cut off in the middle was never said.
            while stdout.read_line(&mut line).is_ok() && line.ends_with('\n') {
                let whole = std::mem::take(&mut line).trim_end().to_owned();
                if sender.send(whole).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            stdin,
            lines,
            reader: Some(reader),
            started,
        }
    }

    /// Waits for `ready` and returns how long it took from the start; `None` if it died before.
    pub fn ready(&self) -> Option<Duration> {
        match self.hear(PATIENCE) {
            Heard::Line(line) if line == "ready" => Some(self.started.elapsed()),
            Heard::Gone => None,
            other => panic!("instead of `ready`: {other:?}"),
        }
    }

    /// Sends an order; one sent to a dead driver is lost, and then it will be heard to be gone.
    pub fn send(&mut self, order: &Order) {
        if let Some(stdin) = &mut self.stdin {
            // The pipe of a process that was killed is broken, which is no news.
            let _ = writeln!(stdin, "{}", order.line());
        }
    }

    /// Waits for a line, at most so long.
    pub fn hear(&self, wait: Duration) -> Heard {
        match self.lines.recv_timeout(wait) {
            Ok(line) => Heard::Line(line),
            Err(RecvTimeoutError::Timeout) => Heard::Silence,
            Err(RecvTimeoutError::Disconnected) => Heard::Gone,
        }
    }

    /// Sends an order and waits for the next line, which answers it; `None` if it died instead.
    pub fn ask(&mut self, order: &Order) -> Option<serde_json::Value> {
        self.send(order);
        match self.hear(PATIENCE) {
            Heard::Line(line) => Some(serde_json::from_str(&line).expect("a JSON line")),
            Heard::Gone => None,
            Heard::Silence => panic!("no answer to {order:?}"),
        }
    }

    /// Returns when it was started.
    pub fn started(&self) -> Instant {
        self.started
    }

    /// Sends SIGKILL, by its pid.
    pub fn kill(&mut self) {
        // One that is dead already cannot be killed, and need not be.
        let _ = self.child.kill();
    }

    /// Ends its input: it answers what it has taken and stops.
    pub fn close(&mut self) {
        self.stdin = None;
    }

    /// Waits for a process that is gone or closed; answers nobody heard are dropped.
    pub fn ended(mut self) -> ExitStatus {
        self.close();
        while self.hear(PATIENCE) != Heard::Gone {
            assert!(
                self.started.elapsed() < 10 * PATIENCE,
                "the driver does not end"
            );
        }
        self.child.wait().expect("its status")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        // A driver that runs under another program outlives it, until its input ends.
        self.close();
        // Both end now that the process has.
        let _ = self.child.wait();
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}
