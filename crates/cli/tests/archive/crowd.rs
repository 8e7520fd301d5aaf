//! Senders that do not give up.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::panic::AssertUnwindSafe;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::place::Place;

const SENDERS: usize = 3;
/// How long a sender rests, so that there is always a little to archive.
const REST: Duration = Duration::from_millis(40);
/// How long to wait for an answer, or for the archive: it rests up to half a minute after failures.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// An agent that writes to itself, through whichever server listens there.
pub(crate) struct Crowd {
    addr: String,
    token: String,
    /// Whether the test has failed, so that nobody waits for a server any more.
    lost: AtomicBool,
}

impl Crowd {
    pub(crate) fn join(place: &Place, addr: &str) -> Self {
        let operator = std::fs::read_to_string(place.data().join("operator.token")).unwrap();
        let mut crowd = Self {
            addr: addr.to_owned(),
            token: operator.trim().to_owned(),
            lost: AtomicBool::new(false),
        };
        crowd.insist("/api/projects", "p", &json!({ "key": "crowd" }));
        let agent = json!({ "project": "crowd", "name": "Sender", "program": "p", "model": "m" });
        let agent = crowd.insist("/api/agents", "a", &agent);
        agent["token"]
            .as_str()
            .unwrap()
            .clone_into(&mut crowd.token);
        crowd
    }

    /// Sends a message, once whatever happens; returns its number.
    pub(crate) fn send(&self, subject: &str) -> i64 {
        let body = json!({ "to": ["Sender"], "subject": subject, "body": "text" });
        let answer = self.insist("/api/messages", subject, &body);
        answer["message"]["id"].as_i64().unwrap()
    }

    /// Reads something, which must succeed.
    pub(crate) fn get(&self, path: &str) -> Value {
        let token = &self.token;
        let head = format!("GET {path} HTTP/1.1\r\nauthorization: Bearer {token}");
        let (code, answer) = request(&self.addr, &head, "").unwrap();
        assert_eq!(code, 200, "{path}: {answer}");
        answer
    }

    /// Posts until there is an answer that is one.
    fn insist(&self, path: &str, key: &str, body: &Value) -> Value {
        let (started, token) = (Instant::now(), &self.token);
        let body = body.to_string();
        let head = format!(
            "POST {path} HTTP/1.1\r\nauthorization: Bearer {token}\r\nidempotency-key: {key}\r\n\
             content-type: application/json\r\ncontent-length: {}",
            body.len()
        );
        loop {
            let may_wait = started.elapsed() < PATIENCE && !self.lost.load(Ordering::Relaxed);
            match request(&self.addr, &head, &body) {
                Some((200 | 201, answer)) => return answer,
                None | Some((503, _)) if may_wait => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                other => panic!("{other:?}"),
            }
        }
    }

    /// Has everybody send while something is done; returns what was acknowledged.
    pub(crate) fn send_while<T>(&self, work: impl FnOnce() -> T) -> (T, Vec<i64>) {
        let (sent, enough) = (Mutex::new(Vec::new()), AtomicBool::new(false));
        let done = std::thread::scope(|scope| {
            for sender in 0..SENDERS {
                let (sent, enough) = (&sent, &enough);
                scope.spawn(move || {
                    for nth in 0.. {
                        if enough.load(Ordering::Relaxed) {
                            break;
                        }
                        let id = self.send(&format!("{sender}-{nth}"));
                        sent.lock().unwrap().push(id);
                        std::thread::sleep(REST);
                    }
                });
            }
            let done = std::panic::catch_unwind(AssertUnwindSafe(work));
            self.lost.store(done.is_err(), Ordering::Relaxed);
            enough.store(true, Ordering::Relaxed);
            done.unwrap_or_else(|cause| std::panic::resume_unwind(cause))
        });
        (done, sent.into_inner().unwrap())
    }
}

/// Asks once over a connection of its own; nothing if the server went away.
fn request(addr: &str, head: &str, body: &str) -> Option<(u16, Value)> {
    let mut stream = TcpStream::connect(addr).ok()?;
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .ok()?;
    let request = format!("{head}\r\nhost: {addr}\r\nconnection: close\r\n\r\n{body}");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let status = answer.split(' ').nth(1)?.parse().ok()?;
    let (_, body) = answer.split_once("\r\n\r\n")?;
    Some((status, serde_json::from_str(body).ok()?))
}

/// Numbers that look as if by chance.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new() -> Self {
        Self(u64::from(std::process::id()) | 1 << 40)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    pub(crate) fn rest(&mut self, us_max: u64) {
        std::thread::sleep(Duration::from_micros(self.below(us_max)));
    }
}
