//! A project with work to hand out, and real workers that do it.

use std::path::PathBuf;
use std::process::{Child, Output};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::place::Place;
use crate::post::Post;

/// How long anything may take before a test has failed.
const PATIENCE: Duration = Duration::from_mins(1);

/// A place with agents and work.
pub(crate) struct Shop<'p> {
    pub(crate) post: &'p Post,
}

/// A worker that runs.
pub(crate) struct Running {
    child: Option<Child>,
}

impl<'p> Shop<'p> {
    pub(crate) fn new(post: &'p Post) -> Self {
        Self { post }
    }

    pub(crate) fn place(&self) -> &Place {
        &self.post.place
    }

    /// Returns a file that commands find in their working directory.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.place().path().join(name)
    }

    pub(crate) fn call(&self, operation: &str, request: &Value) -> Value {
        self.place().call(operation, request).unwrap()
    }

    /// Hands out work for coders, and returns its number.
    pub(crate) fn hand_out(&self, more: &Value) -> i64 {
        let mut request = json!({
            "project": self.place().path(), "agent_kind": "coder", "prompt": "do it",
        });
        let fields = request.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        let made = self.call("create_dispatch", &request);
        made["dispatch"]["id"].as_i64().unwrap()
    }

    pub(crate) fn look(&self, id: i64) -> Value {
        self.call("get_dispatch", &json!({ "id": id }))["dispatch"].clone()
    }

    pub(crate) fn state(&self, id: i64) -> String {
        self.look(id)["state"].as_str().unwrap().to_owned()
    }

    /// Gives work up as the operator.
    pub(crate) fn cancel(&self, id: i64) {
        loop {
            let revision = &self.look(id)["revision"];
            let request = json!({ "id": id, "expected_revision": revision });
            match self.place().call("cancel_dispatch", &request) {
                Ok(_) => return,
                // Its worker said something meanwhile.
                Err((_, error)) => assert_eq!(error["error"], "version_conflict"),
            }
        }
    }

    fn words(options: &str, script: &str) -> Vec<String> {
        let words = ["--json", "dispatch", "exec", "--kind", "coder"].into_iter();
        let words = words.chain(options.split_whitespace());
        let words = words.chain(["--", "sh", "-c", script]);
        words.map(ToOwned::to_owned).collect()
    }

    /// Starts a worker that runs a script of the shell for each dispatch.
    pub(crate) fn start(&self, options: &str, script: &str) -> Running {
        let words = Self::words(options, script);
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let child = Some(self.post.start(&words));
        Running { child }
    }

    /// Runs a worker to its end.
    pub(crate) fn run(&self, options: &str, script: &str) -> Output {
        self.start(options, script).finish()
    }

    /// Waits until a file holds a line, and returns it.
    pub(crate) fn line_in(&self, name: &str) -> String {
        let read = || std::fs::read_to_string(self.file(name)).unwrap_or_default();
        until(|| read().ends_with('\n'));
        read().trim().to_owned()
    }

    /// Waits until a file holds numbers of processes, and returns them.
    pub(crate) fn pids_in(&self, name: &str) -> Vec<i32> {
        let line = self.line_in(name);
        line.split_whitespace()
            .map(|pid| pid.parse().unwrap())
            .collect()
    }
}

impl Running {
    pub(crate) fn pid(&self) -> i32 {
        self.child.as_ref().unwrap().id().try_into().unwrap()
    }

    pub(crate) fn send(&self, signal: Signal) {
        send(self.pid(), signal);
    }

    /// Waits for its end, and returns what it said.
    pub(crate) fn finish(mut self) -> Output {
        let mut child = self.child.take().unwrap();
        let started = Instant::now();
        while child.try_wait().unwrap().is_none() && started.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(5));
        }
        // One that ended already is not killed.
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(started.elapsed() < PATIENCE, "it does not end: {output:?}");
        output
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Returns the lines of JSON that a worker printed.
pub(crate) fn said(output: &Output) -> Vec<Value> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

pub(crate) fn send(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

/// Looks until it is so.
pub(crate) fn until(is_so: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < PATIENCE, "it is never so");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Tells whether a process runs; one that only waits to be noticed does not.
pub(crate) fn is_alive(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit_once(") ")
        .and_then(|(_, rest)| rest.chars().next());
    state.is_some_and(|state| state != 'Z')
}

/// Returns the parent of a process.
pub(crate) fn parent_of(pid: i32) -> i32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, rest) = stat.rsplit_once(") ").unwrap();
    rest.split(' ').nth(1).unwrap().parse().unwrap()
}
