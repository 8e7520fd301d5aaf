//! Followers: how soon they hear of a commit, and what a thousand of them cost.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use comity_kernel::Kernel;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::Wanted;
use crate::base::{CALLERS, message, messages};
use crate::commit::{Runs, per_second};
use crate::http::serve;
use crate::load::{run_all, runtime};
use crate::pairs::Series;
use crate::row::{Row, Target};
use crate::server::Server;
use crate::wire::Wire;

/// Messages that the full rate is taken from.
const FULL: usize = 8_192;
/// How long half of it is kept up.
const LOAD: Duration = Duration::from_secs(4);
/// Followers of each kind that only listen.
const FOLLOWERS: usize = 500;

/// The time from a commit to a follower of the stream, at half of the full load.
pub(crate) fn live(wanted: &Wanted) -> Vec<Row> {
    let runs = Runs::new(wanted, &messages(1));
    let p99 = Series::measure(|| {
        let (kernel, _hand) = runs.open();
        let full = per_second(FULL, run_all(&kernel, &runs.base.callers, messages(FULL)));
        let (addr, token) = serve(&kernel);
        let since = kernel.head().borrow().get();
        let heard = follow(addr, &token, since);
        let committed = half_load(&kernel, &runs, full / 2.0);
        let last = committed.keys().copied().max().expect("some were sent");
        while !heard.lock().expect("unpoisoned").contains_key(&last) {
            std::thread::sleep(Duration::from_millis(1));
        }
        let heard = heard.lock().expect("unpoisoned");
        let mut after: Vec<Duration> = committed
            .iter()
            .map(|(seq, at)| heard[seq].saturating_duration_since(*at))
            .collect();
        after.sort();
        after[after.len() * 99 / 100].as_secs_f64() * 1e3
    });
    let note = format!(
        "p99 from the answer to the sender to the follower of the stream, {CALLERS} senders at half \
         of the rate they reach"
    );
    vec![Row::absolute(
        "mail_live",
        "ms",
        &p99,
        Target::AtMost(20.0),
        note,
    )]
}

/// When each event was heard of or committed.
type Times = HashMap<i64, Instant>;

/// Follows the stream on a thread of its own.
fn follow(addr: SocketAddr, token: &str, since: i64) -> Arc<Mutex<Times>> {
    let mut stream = subscribe(addr, token, &format!("/api/events/stream?since={since}"));
    stream.set_read_timeout(None).expect("no limit");
    stream.flush().expect("sent");
    let heard: Arc<Mutex<Times>> = Arc::default();
    let told = Arc::clone(&heard);
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines() {
            let Ok(line) = line else { return };
            if let Some(id) = line.strip_prefix("id: ") {
                let seq = id.parse().expect("a number");
                told.lock()
                    .expect("unpoisoned")
                    .entry(seq)
                    .or_insert_with(Instant::now);
            }
        }
    });
    heard
}

/// Sends at a steady rate; returns when each message was answered.
fn half_load(kernel: &Arc<Kernel>, runs: &Runs, rate: f64) -> Times {
    #[expect(clippy::cast_precision_loss, reason = "there are few callers")]
    let pause = Duration::from_secs_f64(CALLERS as f64 / rate);
    let end = Instant::now() + LOAD;
    runtime().block_on(async {
        let mut tasks = JoinSet::new();
        for (nth, caller) in runs.base.callers.iter().cloned().enumerate() {
            let kernel = Arc::clone(kernel);
            tasks.spawn(async move {
                let mut next = Instant::now()
                    + pause.mul_f64(f64::from(u32::try_from(nth).expect("few")) / 64.0);
                let mut times = Vec::new();
                while next < end {
                    tokio::time::sleep_until(next.into()).await;
                    next += pause;
                    let sent = kernel.execute(caller.clone().into(), message(nth)).await;
                    times.push((sent.expect("it is sent").seq.get(), Instant::now()));
                }
                times
            });
        }
        tasks.join_all().await.into_iter().flatten().collect()
    })
}

/// What a thousand followers that hear nothing cost a server.
pub(crate) fn memory(wanted: &Wanted) -> Vec<Row> {
    let directory = TempDir::new_in(&wanted.directory).expect("a directory");
    let data = directory.path().join("data");
    let server = Server::start(&wanted.comity, &data);
    let token = std::fs::read_to_string(data.join("operator.token")).expect("a token");
    let (addr, token) = (server.addr(), token.trim());
    runtime().block_on(async {
        let mut wire = Wire::connect(addr, token).await;
        let project = json!({ "key": "/srv/idle" }).to_string();
        wire.ask("POST", "/api/projects", &project).await;
        let agent = json!({ "project": "/srv/idle", "name": "Idle", "program": "p", "model": "m" });
        let made: Value =
            serde_json::from_slice(&wire.ask("POST", "/api/agents", &agent.to_string()).await)
                .expect("JSON");
        assert_eq!(made["agent"]["id"], 1);
    });
    let mut followers = Vec::new();
    for _ in 0..FOLLOWERS {
        followers.push(subscribe(addr, token, "/api/events/stream"));
        followers.push(upgrade(addr, token));
    }
    server.wait_until_idle();
    let resident: Series = [server.resident_mb()].into_iter().collect();
    drop(followers);
    server.stop();
    let note = format!("resident with {FOLLOWERS} idle streams and {FOLLOWERS} idle sockets");
    vec![Row::absolute(
        "mail_memory",
        "MB",
        &resident,
        Target::AtMost(150.0),
        note,
    )]
}

fn subscribe(addr: SocketAddr, token: &str, path: &str) -> TcpStream {
    open(
        addr,
        &format!("GET {path} HTTP/1.1\r\nhost: {addr}\r\nauthorization: Bearer {token}\r\n\r\n"),
        "HTTP/1.1 200",
    )
}

fn upgrade(addr: SocketAddr, token: &str) -> TcpStream {
    let request = format!(
        "GET /ws/agents/1 HTTP/1.1\r\nhost: {addr}\r\nauthorization: Bearer {token}\r\nconnection: upgrade\r\n\
         upgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    open(addr, &request, "HTTP/1.1 101")
}

/// Sends a request and reads the head of its answer, which stays open.
fn open(addr: SocketAddr, request: &str, expected: &str) -> TcpStream {
    let mut stream = TcpStream::connect(addr).expect("a connection");
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("a limit");
    stream
        .write_all(request.as_bytes())
        .expect("it takes the request");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("it answers");
        head.extend(byte);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    assert!(head.starts_with(expected), "{head}");
    stream
}
