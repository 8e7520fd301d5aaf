//! A crowd that asks for three times what the server can do (B6, fault 14).
//!
//! `scripts/campaign overload` runs it with a thousand clients for a minute on a release build. Here
//! it proves what must hold at any speed: what was acknowledged is durable and nothing else is, all
//! others are told `busy`, and afterwards everything is as before. Times are printed, not judged.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader as StdReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

fn count(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).map_or(otherwise, |text| text.parse().unwrap())
}

struct Server {
    child: Child,
    addr: String,
    token: String,
    _directory: tempfile::TempDir,
}

impl Server {
    fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path().join("data");
        let mut child = Command::new(env!("CARGO_BIN_EXE_comity"))
            .arg("--data")
            .arg(&data)
            .args(["serve", "--addr", "127.0.0.1:0", "--json"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        StdReader::new(stdout).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let token = std::fs::read_to_string(data.join("operator.token")).unwrap();
        Self {
            child,
            addr: said["addr"].as_str().unwrap().to_owned(),
            token: token.trim().to_owned(),
            _directory: directory,
        }
    }

    fn resident_mb(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("VmRSS:"))
            .unwrap();
        line.split_whitespace()
            .nth(1)
            .unwrap()
            .parse::<u64>()
            .unwrap()
            / 1_000
    }

    fn descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.id()))
            .unwrap()
            .count()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One keep-alive connection.
struct Client {
    stream: BufReader<TcpStream>,
    head: String,
}

impl Client {
    async fn connect(addr: &str, token: &str) -> Self {
        let stream = TcpStream::connect(addr).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self {
            stream: BufReader::new(stream),
            head: format!("host: {addr}\r\nauthorization: Bearer {token}\r\n"),
        }
    }

    async fn ask(&mut self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let head = &self.head;
        // A body that nobody reads would let the server close the connection.
        let request = if method == "GET" {
            format!("GET {path} HTTP/1.1\r\n{head}\r\n")
        } else {
            let body = body.to_string();
            let length = body.len();
            format!(
                "{method} {path} HTTP/1.1\r\n{head}content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
            )
        };
        self.stream
            .get_mut()
            .write_all(request.as_bytes())
            .await
            .unwrap();
        let mut line = String::new();
        self.stream.read_line(&mut line).await.unwrap();
        let status = line.split(' ').nth(1).unwrap().parse().unwrap();
        let mut length = 0;
        loop {
            line.clear();
            self.stream.read_line(&mut line).await.unwrap();
            if line == "\r\n" {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).await.unwrap();
        (status, serde_json::from_slice(&body).unwrap())
    }

    async fn register(&mut self, name: &str) -> (u16, Value) {
        let agent = json!({ "project": "crowd", "name": name, "program": "p", "model": "m" });
        self.ask("POST", "/api/agents", &agent).await
    }
}

/// What one client saw.
#[derive(Default)]
struct Seen {
    accepted: BTreeSet<String>,
    refused_after: Vec<Duration>,
    accepted_after: Vec<Duration>,
}

/// Asks every `pause` until `end`; a client that is behind does not catch up.
async fn crowd_member(mut client: Client, nth: u64, pause: Duration, end: Instant) -> Seen {
    let mut seen = Seen::default();
    let mut next =
        Instant::now() + pause.mul_f64(f64::from(u32::try_from(nth % 97).unwrap()) / 97.0);
    for number in 0.. {
        tokio::time::sleep_until(next.into()).await;
        if Instant::now() >= end {
            break;
        }
        next = (next + pause).max(Instant::now());
        let name = format!("c{nth}-{number}");
        let started = Instant::now();
        let (status, answer) = client.register(&name).await;
        match status {
            201 => {
                seen.accepted.insert(name);
                seen.accepted_after.push(started.elapsed());
            }
            429 | 503 => {
                assert!(answer["retry_after_ms"].is_u64(), "{answer}");
                seen.refused_after.push(started.elapsed());
            }
            other => panic!("{other}: {answer}"),
        }
    }
    seen
}

async fn crowd(server: &Server, clients: u64, per_second: f64, length: Duration) -> Vec<Seen> {
    static CROWDS: AtomicU64 = AtomicU64::new(0);
    let first = CROWDS.fetch_add(1, Ordering::Relaxed) * 100_000;
    let mut connected = Vec::new();
    for _ in 0..clients {
        connected.push(Client::connect(&server.addr, &server.token).await);
    }
    let pause = Duration::from_secs_f64(f64::from(u32::try_from(clients).unwrap()) / per_second);
    let end = Instant::now() + length;
    let mut members = JoinSet::new();
    for (nth, client) in (first..).zip(connected) {
        members.spawn(crowd_member(client, nth, pause, end));
    }
    members.join_all().await
}

/// Every name the server has, page by page.
async fn stored(client: &mut Client) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut after = "0".to_owned();
    loop {
        let path = format!("/api/agents?project=crowd&limit=500&after={after}");
        let (status, page) = client.ask("GET", &path, &json!({})).await;
        assert_eq!(status, 200, "{page}");
        for agent in page["items"].as_array().unwrap() {
            assert!(
                names.insert(agent["name"].as_str().unwrap().to_owned()),
                "twice: {agent}"
            );
        }
        match page["next"].as_str() {
            Some(next) => next.clone_into(&mut after),
            None => return names,
        }
    }
}

fn spread(times: &mut [Duration]) -> String {
    times.sort_unstable();
    let at = |part: usize| {
        times
            .get(times.len() * part / 1_000)
            .copied()
            .unwrap_or_default()
    };
    let last = times.last().copied().unwrap_or_default();
    format!("p50 {:?}, p99 {:?}, max {last:?}", at(500), at(990))
}

// B6, fault 14
#[test]
fn a_crowd_is_told_busy_and_what_was_acknowledged_is_there() {
    let clients = count("COMITY_OVERLOAD_CLIENTS", 700);
    let length = Duration::from_secs(count("COMITY_OVERLOAD_SECONDS", 2));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let server = Arc::new(Server::start());
        let mut operator = Client::connect(&server.addr, &server.token).await;
        let (status, _) = operator.ask("POST", "/api/projects", &json!({ "key": "crowd" })).await;
        assert_eq!(status, 201);
        let descriptors = server.descriptors();
        let calm = crowd(&server, 64, 1e9, Duration::from_secs(1)).await;
        let mut accepted: BTreeSet<String> = BTreeSet::new();
        let mut capacity = 0;
        for seen in calm {
            capacity += seen.accepted.len();
            accepted.extend(seen.accepted);
        }
        let offered = 3.0 * f64::from(u32::try_from(capacity).unwrap());
        let watched = Arc::clone(&server);
        let (done, mut over) = tokio::sync::oneshot::channel::<()>();
        let largest = tokio::spawn(async move {
            let mut largest = 0;
            while over.try_recv().is_err() {
                largest = largest.max(watched.resident_mb());
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            largest
        });
        let seen = crowd(&server, clients, offered, length).await;
        done.send(()).unwrap();
        // A connection that was silent for so long may have been closed.
        let mut operator = Client::connect(&server.addr, &server.token).await;
        let started = Instant::now();
        let (status, answer) = operator.register("afterwards").await;
        assert_eq!(status, 201, "it recovers at once: {answer}");
        let recovered = started.elapsed();
        accepted.insert("afterwards".to_owned());
        let (mut refused_after, mut accepted_after) = (Vec::new(), Vec::new());
        for mut seen in seen {
            accepted.append(&mut seen.accepted);
            refused_after.append(&mut seen.refused_after);
            accepted_after.append(&mut seen.accepted_after);
        }
        assert_eq!(stored(&mut operator).await, accepted, "acknowledged is durable, and nothing else");
        let largest = largest.await.unwrap();
        assert!(largest < 300, "{largest} MB");
        while server.descriptors() > descriptors {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let asked = accepted_after.len() + refused_after.len();
        eprintln!(
            "overload: {clients} clients for {length:?}, capacity {capacity}/s, asked {asked}, \
             accepted {} ({}), refused {} ({}), resident at most {largest} MB, recovered in {recovered:?}",
            accepted_after.len(), spread(&mut accepted_after),
            refused_after.len(), spread(&mut refused_after),
        );
    });
}
