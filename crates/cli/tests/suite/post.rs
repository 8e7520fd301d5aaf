//! A project with agents who write to each other, through each door.

use std::io::Write;
use std::process::{Child, Output, Stdio};

use serde_json::Value;

use crate::place::{Place, Server, answer};

/// The numbers of an empty list.
pub(crate) const NOTHING: [i64; 0] = [];

/// Returns the numbers of what is listed.
pub(crate) fn ids(page: &Value) -> Vec<i64> {
    let items = page["items"].as_array().unwrap();
    let id = |item: &Value| item["id"].as_i64().unwrap();
    items.iter().map(id).collect()
}

/// A place with the agents Blue, Red and Gold, and the words that lead through one door.
pub(crate) struct Post {
    pub(crate) place: Place,
    server: Option<Server>,
    url: Vec<String>,
}

/// Runs a test through every door.
pub(crate) fn through_every_door(test: impl Fn(&Post)) {
    let embedded = Post::embedded();
    test(&embedded);
    let socket = Post::served();
    test(&socket);
    let mut by_url = Post::served();
    let address = by_url.server.as_ref().map(|server| &server.addr);
    by_url.url = vec!["--url".into(), format!("http://{}", address.unwrap())];
    test(&by_url);
}

impl Post {
    pub(crate) fn embedded() -> Self {
        let place = Place::new();
        for name in ["Blue", "Red", "Gold"] {
            place.json(&["join", "--name", name, "--operator"]).unwrap();
        }
        let (server, url) = (None, Vec::new());
        Self { place, server, url }
    }

    pub(crate) fn served() -> Self {
        let mut post = Self::embedded();
        post.server = Some(post.place.serve());
        post
    }

    /// Runs a command, with something piped into it.
    pub(crate) fn pipe(&self, words: &[&str], stdin: &[u8]) -> Output {
        let mut child = self.start(words);
        child.stdin.take().unwrap().write_all(stdin).unwrap();
        child.wait_with_output().unwrap()
    }

    /// Starts a command and goes on.
    pub(crate) fn start(&self, words: &[&str]) -> Child {
        let url = self.url.iter().map(String::as_str);
        let words: Vec<_> = url.chain(words.iter().copied()).collect();
        let mut command = self.place.command(&words);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// Runs a command that is given as one line, with `--json`.
    pub(crate) fn ask(&self, line: &str) -> Result<Value, (i32, Value)> {
        let words = ["--json"].into_iter().chain(line.split_whitespace());
        let words: Vec<_> = words.collect();
        answer(&self.pipe(&words, b""))
    }

    /// Runs a command that is given as one line, and returns what people see.
    pub(crate) fn see(&self, line: &str) -> String {
        let words: Vec<_> = line.split_whitespace().collect();
        let output = self.pipe(&words, b"");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {stderr}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Sends a message and returns its number.
    pub(crate) fn send(&self, line: &str) -> i64 {
        let sent = self.ask(&format!("mail send {line}")).unwrap();
        sent["message"]["id"].as_i64().unwrap()
    }
}
