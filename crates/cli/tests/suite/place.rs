//! A directory with the real binary on it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

pub(crate) const COMITY: &str = env!("CARGO_BIN_EXE_comity");

/// A data directory of a test's own, and the program on it.
pub(crate) struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self { directory }
    }

    /// The directory that holds the data directory; commands run in it.
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(COMITY);
        command.arg("--data").arg(self.data()).args(arguments);
        command
            .current_dir(self.directory.path())
            .stdin(Stdio::null());
        // Whoever runs the tests may use Comity too.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("COMITY") {
                command.env_remove(name);
            }
        }
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    pub(crate) fn call(&self, operation: &str, request: &Value) -> Result<Value, (i32, Value)> {
        self.json(&["call", operation, &request.to_string(), "--operator"])
    }

    /// Runs a command with `--json`.
    pub(crate) fn json(&self, arguments: &[&str]) -> Result<Value, (i32, Value)> {
        answer(&self.run(&[arguments, &["--json"]].concat()))
    }

    /// Runs a command that is given as one line, with `--json`.
    pub(crate) fn ask(&self, line: &str) -> Result<Value, (i32, Value)> {
        self.json(&line.split_whitespace().collect::<Vec<_>>())
    }

    /// Starts a server and waits until it says where it listens.
    pub(crate) fn serve(&self) -> Server {
        self.serve_with(&[])
    }

    /// Starts a server with more arguments.
    pub(crate) fn serve_with(&self, more: &[&str]) -> Server {
        let usual = ["serve", "--addr", "127.0.0.1:0", "--json"];
        let mut child = self
            .command(&[&usual, more].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let addr = said["addr"].as_str().unwrap().to_owned();
        Server { child, addr }
    }
}

/// A running server.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) addr: String,
}

impl Server {
    pub(crate) fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.addr).unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
            self.addr
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, signal).unwrap();
    }

    pub(crate) fn wait(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Ended already, as in most tests, there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads the answer, or the exit code and the error.
pub(crate) fn answer(output: &Output) -> Result<Value, (i32, Value)> {
    if output.status.success() {
        return Ok(serde_json::from_slice(&output.stdout).unwrap());
    }
    assert!(output.stdout.is_empty());
    let error = String::from_utf8_lossy(&output.stderr);
    let error = error.lines().last().unwrap_or_default();
    Err((
        output.status.code().unwrap(),
        serde_json::from_str(error).unwrap(),
    ))
}

/// Every agent's token.
pub(crate) fn tokens(place: &Place) -> Vec<String> {
    let projects = std::fs::read_dir(place.data().join("agents")).unwrap();
    let files = projects.flat_map(|project| std::fs::read_dir(project.unwrap().path()).unwrap());
    files
        .map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap())
        .map(|token| token.trim().to_owned())
        .collect()
}
