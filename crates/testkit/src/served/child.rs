//! A server in a process of its own, whose descriptors can be counted and taken away.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child as Process, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::client::{self, Answer, Call, read_answer};
use super::connect;

/// A running `served`; dropping it ends it.
pub struct Child {
    process: Process,
    addr: SocketAddr,
    token: String,
    _directory: TempDir,
}

impl Child {
    /// Starts `env!("CARGO_BIN_EXE_served")` with these settings.
    pub fn start(program: &str, settings: &Value) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut settings = settings.clone();
        settings["directory"] = json!(directory.path());
        let mut process = Command::new(program)
            .arg(settings.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut line = String::new();
        let stdout = process.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        let said: Value = serde_json::from_str(&line).expect("where it listens");
        let text = |name: &str| said[name].as_str().expect("text").to_owned();
        Self {
            addr: text("addr").parse().expect("an address"),
            token: text("token"),
            process,
            _directory: directory,
        }
    }

    /// Opens a connection.
    pub fn connect(&self) -> TcpStream {
        connect(self.addr)
    }

    /// Writes a call of the operator down.
    pub fn bytes(&self, call: &Call) -> Vec<u8> {
        call.clone()
            .token(&self.token)
            .bytes(&self.addr.to_string())
    }

    /// Makes a call as the operator, over a connection of its own.
    pub fn call(&self, call: &Call) -> Answer {
        call.exchange(&mut self.connect(), &self.bytes(call))
    }

    /// Makes a call as the operator, and waits until the server has closed the connection.
    pub fn call_and_close(&self, call: &Call) -> Answer {
        let mut stream = self.connect();
        let bytes = self.bytes(&call.clone().header("Connection", "close"));
        stream.write_all(&bytes).expect("the server takes it");
        let answer = read_answer(&mut stream, "GET").expect("an answer");
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).expect("the end");
        answer
    }

    /// Sends bytes and reads one answer, if there is one.
    pub fn raw(&self, bytes: &[u8]) -> Option<Answer> {
        client::raw(&mut self.connect(), bytes)
    }

    /// Counts its open descriptors.
    pub fn descriptors(&self) -> u64 {
        let open = std::fs::read_dir(self.proc("fd")).expect("a process");
        open.count() as u64
    }

    /// Sets how many descriptors it may have, from its next one on.
    pub fn limit_descriptors(&self, most: u64) {
        let pid = Pid::from_child(&self.process);
        let maximum = rustix::process::getrlimit(Resource::Nofile).maximum;
        let limit = Rlimit {
            current: Some(most),
            maximum,
        };
        prlimit(Some(pid), Resource::Nofile, limit).expect("the limit of a child");
    }

    /// Limits it to the descriptors it has: the limit is on their numbers, and there are gaps.
    pub fn leave_no_descriptors(&self) {
        let free =
            |number: &u64| !std::fs::exists(self.proc(&format!("fd/{number}"))).unwrap_or(true);
        let lowest = (0..=self.descriptors()).find(free).expect("a free number");
        self.limit_descriptors(lowest);
    }

    /// Returns how much memory it has.
    pub fn resident_bytes(&self) -> u64 {
        let text = std::fs::read_to_string(self.proc("statm")).expect("a process");
        let pages = text.split(' ').nth(1).and_then(|it| it.parse::<u64>().ok());
        pages.expect("pages") * rustix::param::page_size() as u64
    }

    /// Returns how long it has kept processors busy.
    pub fn processor_time(&self) -> Duration {
        let text = std::fs::read_to_string(self.proc("stat")).expect("a process");
        let (_, fields) = text.rsplit_once(") ").expect("a name");
        let ticks = fields.split(' ').skip(11).take(2);
        let ticks: u64 = ticks.map(|it| it.parse::<u64>().expect("ticks")).sum();
        let per_second = rustix::param::clock_ticks_per_second();
        Duration::from_millis(ticks * 1_000 / per_second)
    }

    fn proc(&self, file: &str) -> String {
        format!("/proc/{}/{file}", self.process.id())
    }
}

/// Raises this process's own limit, where it is lower and the system lets us.
pub fn allow_descriptors(least: u64) {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < least) {
        let current = Some(least);
        let raised = Rlimit { current, ..limit };
        rustix::process::setrlimit(Resource::Nofile, raised).expect("enough descriptors");
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // It ends with its standard input; one that does not is made to.
        drop(self.process.stdin.take());
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
