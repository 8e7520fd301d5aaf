//! Senders that do not give up, and an archive whose server or `git` is killed under them
//! (D2, D3, D8, fault 9).
//!
//! `scripts/campaign archive` runs it with 300 kills. In the end every message that was acknowledged
//! must have been introduced by exactly one commit, and nobody has repaired anything.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has failed"
)]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

const COMITY: &str = env!("CARGO_BIN_EXE_comity");
const SENDERS: usize = 3;
/// How long a sender rests, so that there is always a little to archive.
const REST: Duration = Duration::from_millis(40);
/// How long a `git` takes at most, roughly: a kill comes at any moment of that.
const LIFE_US: u64 = 20_000;
/// How long to wait for an answer, or for a `git` to kill: the archive rests up to half a minute
/// after failures.
const PATIENCE: Duration = Duration::from_mins(1);

/// Numbers that look as if by chance.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    fn rest(&mut self, us_max: u64) {
        std::thread::sleep(Duration::from_micros(self.below(us_max)));
    }
}

/// A running server, which is killed in the end.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Where the data lies.
struct Place {
    data: PathBuf,
}

impl Place {
    fn comity(&self) -> Command {
        let mut command = Command::new(COMITY);
        command.arg("--data").arg(&self.data);
        // Small pieces, and at once: there are many commits to be killed in.
        command.env("COMITY_ARCHIVE_BATCH_MAX", "4");
        command.env("COMITY_ARCHIVE_INTERVAL", "1ms");
        command
    }

    /// Starts a server and waits until it says where it listens.
    fn serve(&self, addr: &str) -> (Server, String) {
        let mut child = self
            .comity()
            .args(["serve", "--addr", addr, "--json"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        (Server(child), said["addr"].as_str().unwrap().to_owned())
    }

    /// Runs a command of the operator, which must succeed.
    fn ask(&self, arguments: &[&str]) -> Value {
        let mut command = self.comity();
        let output = command.args(arguments).args(["--operator", "--json"]);
        let output = output.output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// What `git` says, as anybody would ask it.
    fn git(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("git");
        command.arg("--git-dir").arg(self.data.join("archive.git"));
        let output = command.args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}

/// Posts once over a connection of its own; nothing if the server went away.
fn post(addr: &str, token: &str, path: &str, key: &str, body: &Value) -> Option<(u16, Value)> {
    let mut stream = TcpStream::connect(addr).ok()?;
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .ok()?;
    let body = body.to_string();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: {addr}\r\nauthorization: Bearer {token}\r\nidempotency-key: {key}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let status = answer.split(' ').nth(1)?.parse().ok()?;
    let (_, body) = answer.split_once("\r\n\r\n")?;
    Some((status, serde_json::from_str(body).ok()?))
}

/// Posts until there is an answer that is one.
fn insist(addr: &str, token: &str, path: &str, key: &str, body: &Value) -> Value {
    let started = Instant::now();
    loop {
        match post(addr, token, path, key, body) {
            Some((200 | 201, answer)) => return answer,
            None | Some((503, _)) if started.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(20));
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Finds a `git` that the server has started, and what for.
fn git_of(server: &Server) -> Option<(Pid, String)> {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", server.0.id())).unwrap();
    for task in tasks.flatten() {
        // The thread may have ended since.
        let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        for child in children.split_whitespace() {
            let words = std::fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
            let words: Vec<_> = words.split(|byte| *byte == 0).collect();
            let is = |name: &&str| words.contains(&name.as_bytes());
            let purposes = ["fast-import", "repack", "cat-file", "init"];
            if words.first() == Some(&b"git".as_slice())
                && let Some(purpose) = purposes.into_iter().find(is)
            {
                let pid = child.parse().ok().and_then(Pid::from_raw).unwrap();
                return Some((pid, purpose.to_owned()));
            }
        }
    }
    None
}

/// Waits for a `git` of the server, and then for a moment of its life.
fn git_at_work(server: &Server, dice: &mut Dice) -> (Pid, String) {
    let started = Instant::now();
    loop {
        if let Some(found) = git_of(server) {
            dice.rest(LIFE_US);
            return found;
        }
        assert!(started.elapsed() < PATIENCE, "nothing is archived any more");
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// What was killed, and how often.
#[derive(Default)]
struct Kills(BTreeMap<String, usize>);

impl Kills {
    fn add(&mut self, what: &str) {
        *self.0.entry(what.to_owned()).or_default() += 1;
    }

    fn sum(&self) -> usize {
        self.0.values().sum()
    }
}

/// Kills the server or its `git`, one as often as the other, and starts the server again.
fn kill_about(place: &Place, addr: &str, mut server: Server, kills: usize) -> (Server, Kills) {
    let mut dice = Dice(u64::from(std::process::id()) | 1 << 40);
    let mut killed = Kills::default();
    while killed.sum() < kills {
        dice.rest(100_000);
        if dice.below(2) == 0 {
            let (git, purpose) = git_at_work(&server, &mut dice);
            // It may have ended by itself; until the server has asked for its end, its number is
            // nobody else's.
            if git_of(&server).is_some_and(|(now, _)| now == git) {
                kill_process(git, Signal::KILL).unwrap();
                killed.add(&format!("git {purpose}"));
            }
            continue;
        }
        let mut what = "server";
        if dice.below(2) == 0 {
            git_at_work(&server, &mut dice);
            what = "server beside git";
        }
        drop(server);
        killed.add(what);
        server = place.serve(addr).0;
    }
    (server, killed)
}

/// Every message that was acknowledged was introduced by one commit, and nothing else was.
fn must_be_introduced_once(place: &Place, mut sent: Vec<i64>) -> usize {
    let log = place.git(&["log", "--format=", "--name-only", "main"]);
    let introduced = log.lines().filter(|path| path.contains("/messages/"));
    let id = |path: &str| -> i64 {
        let name = path.rsplit('/').next().unwrap();
        name.split('-').next().unwrap().parse().unwrap()
    };
    let mut introduced: Vec<_> = introduced.map(id).collect();
    introduced.sort_unstable();
    sent.sort_unstable();
    assert_eq!(introduced, sent, "each acknowledged message in one commit");
    let commits = place.git(&["rev-list", "--count", "main"]);
    commits.trim().parse().unwrap()
}

// D2 D3 D6 D7 D8, faults 7 and 9
#[test]
fn what_was_acknowledged_is_in_one_commit_whatever_is_killed() {
    let kills = std::env::var("COMITY_ARCHIVE_KILLS").map_or(8, |text| text.parse().unwrap());
    let started = Instant::now();
    let directory = tempfile::tempdir().unwrap();
    let place = Place {
        data: directory.path().join("data"),
    };
    let (server, addr) = place.serve("127.0.0.1:0");
    let operator = std::fs::read_to_string(place.data.join("operator.token")).unwrap();
    let operator = operator.trim();
    let project = json!({ "key": "crowd" });
    insist(&addr, operator, "/api/projects", "p", &project);
    let agent = json!({ "project": "crowd", "name": "Sender", "program": "p", "model": "m" });
    let agent = insist(&addr, operator, "/api/agents", "a", &agent);
    let token = agent["token"].as_str().unwrap();
    let (sent, enough) = (Mutex::new(Vec::new()), AtomicBool::new(false));
    let (server, killed) = std::thread::scope(|scope| {
        for sender in 0..SENDERS {
            let (addr, sent, enough) = (&addr, &sent, &enough);
            scope.spawn(move || {
                for nth in 0.. {
                    if enough.load(Ordering::Relaxed) {
                        break;
                    }
                    let subject = format!("{sender}-{nth}");
                    let body = json!({ "to": ["Sender"], "subject": subject, "body": "text" });
                    let answer = insist(addr, token, "/api/messages", &subject, &body);
                    let id = answer["message"]["id"].as_i64().unwrap();
                    sent.lock().unwrap().push(id);
                    std::thread::sleep(REST);
                }
            });
        }
        let done = std::panic::catch_unwind(AssertUnwindSafe(|| {
            kill_about(&place, &addr, server, kills)
        }));
        enough.store(true, Ordering::Relaxed);
        done.unwrap()
    });
    place.ask(&["archive", "sync", "--timeout", "300s"]);
    let status = place.ask(&["archive", "status"]);
    assert_eq!(
        (&status["lag"], &status["quarantined_count"]),
        (&json!(0), &json!(0)),
        "{status}"
    );
    let verified = place.ask(&["archive", "verify"]);
    assert_eq!(verified["ok"], json!(true), "{verified}");
    drop(server);
    let sent = sent.into_inner().unwrap();
    let messages = sent.len();
    let commits = must_be_introduced_once(&place, sent);
    // What killed imports left without a name is all that it may tell of.
    let found = place.git(&["fsck", "--strict", "--no-progress"]);
    assert!(
        found.lines().all(|line| line.starts_with("dangling ")),
        "{found}"
    );
    eprintln!(
        "archive: {messages} messages in {commits} commits, kills {:?}, {} s: each introduced once",
        killed.0,
        started.elapsed().as_secs()
    );
}
