//! Clients of a server on loopback: keep-alive connections that ask and wait.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

/// One connection.
pub(crate) struct Wire {
    stream: BufReader<TcpStream>,
    head: String,
}

impl Wire {
    pub(crate) async fn connect(addr: SocketAddr, token: &str) -> Self {
        let stream = TcpStream::connect(addr).await.expect("a connection");
        stream.set_nodelay(true).expect("no delay");
        Self {
            stream: BufReader::new(stream),
            head: format!("host: {addr}\r\nauthorization: Bearer {token}\r\n"),
        }
    }

    /// Asks, and reads the whole answer; it must be a good one.
    pub(crate) async fn ask(&mut self, method: &str, path: &str, body: &str) -> Vec<u8> {
        let (head, length) = (&self.head, body.len());
        let request = format!(
            "{method} {path} HTTP/1.1\r\n{head}content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        let stream = self.stream.get_mut();
        stream
            .write_all(request.as_bytes())
            .await
            .expect("it takes the request");
        let mut line = String::new();
        self.stream.read_line(&mut line).await.expect("it answers");
        assert!(line.starts_with("HTTP/1.1 20"), "{line}");
        let mut length = 0;
        loop {
            line.clear();
            self.stream.read_line(&mut line).await.expect("a header");
            if line == "\r\n" {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().expect("a length");
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).await.expect("a body");
        body
    }
}

/// Asks the same way `count` times over some connections; returns how long that took in all.
pub(crate) async fn flood(
    wires: &mut Vec<Wire>,
    path: &'static str,
    bodies: Vec<String>,
) -> Duration {
    let mut lanes: Vec<Vec<String>> = wires.iter().map(|_| Vec::new()).collect();
    let many = lanes.len();
    for (nth, body) in bodies.into_iter().enumerate() {
        lanes[nth % many].push(body);
    }
    let started = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for (mut wire, lane) in wires.drain(..).zip(lanes) {
        tasks.spawn(async move {
            for body in lane {
                wire.ask("POST", path, &body).await;
            }
            wire
        });
    }
    *wires = tasks.join_all().await;
    started.elapsed()
}
