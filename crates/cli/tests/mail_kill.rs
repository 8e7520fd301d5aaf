//! Senders that do not give up, and a server that is killed under them (B1, C2, C3).
//!
//! `scripts/campaign mail` runs it with 64 senders of 10,000 messages and 50 kills. In the end the
//! inbox must hold exactly what was acknowledged, each once, in the order of each sender.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test that cannot go on has failed"
)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

const COMITY: &str = env!("CARGO_BIN_EXE_comity");

fn count(variable: &str, otherwise: usize) -> usize {
    std::env::var(variable).map_or(otherwise, |text| text.parse().unwrap())
}

/// Where the data lies, and how the server is started on it.
struct Place {
    data: PathBuf,
    database: Option<String>,
}

impl Place {
    fn comity(&self) -> Command {
        let mut command = Command::new(COMITY);
        command.arg("--data").arg(&self.data);
        if let Some(database) = &self.database {
            command.arg("--database").arg(database);
        }
        command
    }

    /// Starts a server and waits until it says where it listens.
    fn serve(&self, addr: &str) -> (Child, String) {
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
        (child, said["addr"].as_str().unwrap().to_owned())
    }

    fn token(&self, file: impl AsRef<Path>) -> String {
        let token = std::fs::read_to_string(self.data.join(file)).unwrap();
        token.trim().to_owned()
    }
}

/// Asks once over a connection of its own; nothing if the server went away.
fn ask(addr: &str, token: &str, line: &str, key: &str, body: &Value) -> Option<(u16, Value)> {
    let mut stream = TcpStream::connect(addr).ok()?;
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .ok()?;
    let body = body.to_string();
    let request = format!(
        "{line} HTTP/1.1\r\nhost: {addr}\r\nauthorization: Bearer {token}\r\nidempotency-key: {key}\r\n\
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

/// Asks until there is an answer that is one.
fn insist(addr: &str, token: &str, line: &str, key: &str, body: &Value) -> Value {
    loop {
        match ask(addr, token, line, key, body) {
            Some((200 | 201, answer)) => return answer,
            None | Some((503, _)) => std::thread::sleep(Duration::from_millis(20)),
            Some((status, answer)) => panic!("{status}: {answer}"),
        }
    }
}

fn senders_outlive_kills(database: Option<String>) {
    let senders = count("COMITY_MAIL_SENDERS", 8);
    let messages = count("COMITY_MAIL_MESSAGES", 40);
    let kills = count("COMITY_MAIL_KILLS", 4);
    let directory = tempfile::tempdir().unwrap();
    let place = Place {
        data: directory.path().join("data"),
        database,
    };
    let (mut server, addr) = place.serve("127.0.0.1:0");
    let operator = place.token("operator.token");
    let call = |line: &str, key: &str, body: &Value| insist(&addr, &operator, line, key, body);
    call("POST /api/projects", "p", &json!({ "key": "crowd" }));
    let register = |name: &str| {
        let agent = json!({ "project": "crowd", "name": name, "program": "p", "model": "m" });
        call("POST /api/agents", name, &agent)["token"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let reader = register("Reader");
    let tokens: Vec<_> = (0..senders)
        .map(|nth| register(&format!("S{nth}")))
        .collect();
    let done = AtomicUsize::new(0);
    let mut killed = 0;
    std::thread::scope(|scope| {
        for (sender, token) in tokens.iter().enumerate() {
            let (addr, done) = (&addr, &done);
            scope.spawn(move || {
                for nth in 0..messages {
                    let subject = format!("{sender}-{nth}");
                    let body = json!({ "to": ["Reader"], "subject": subject, "body": "text" });
                    let sent = insist(addr, token, "POST /api/messages", &subject, &body);
                    assert_eq!(sent["message"]["subject"], subject.as_str());
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        // Whoever pages beside the senders skips and repeats nothing (C4).
        scope.spawn(|| must_hold_each_once(&addr, &reader, senders, messages));
        // Each kill after a share of the messages, wherever the server is then.
        while killed < kills {
            let due = senders * messages * (killed + 1) / (kills + 1);
            while done.load(Ordering::Relaxed) < due {
                std::thread::sleep(Duration::from_millis(1));
            }
            server.kill().unwrap();
            server.wait().unwrap();
            killed += 1;
            server = place.serve(&addr).0;
        }
    });
    must_hold_each_once(&addr, &reader, senders, messages);
    server.kill().unwrap();
    server.wait().unwrap();
    let doctor = place
        .comity()
        .args(["doctor", "--operator", "--json"])
        .output()
        .unwrap();
    let findings = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(doctor.status.success(), "{findings}");
    eprintln!(
        "mail: {senders} senders x {messages} messages, {killed} kills: each delivered once, in order"
    );
}

/// Reads the inbox page by page until everything was there: every message once, and each sender's in
/// their order.
fn must_hold_each_once(addr: &str, reader: &str, senders: usize, messages: usize) {
    let mut next = vec![0; senders];
    let mut after = 0;
    while next.iter().sum::<usize>() < senders * messages {
        let line =
            format!("GET /api/inbox/Reader?order=oldest&detail=none&limit=500&after={after}");
        let page = insist(addr, reader, &line, "-", &json!({}));
        for item in page["items"].as_array().unwrap() {
            let (sender, nth) = item["subject"].as_str().unwrap().split_once('-').unwrap();
            let sender: usize = sender.parse().unwrap();
            assert_eq!(
                nth.parse::<usize>().unwrap(),
                next[sender],
                "of sender {sender}"
            );
            next[sender] += 1;
            after = item["id"].as_i64().unwrap();
        }
    }
    assert!(next.iter().all(|&count| count == messages), "{next:?}");
    let line = format!("GET /api/inbox/Reader?order=oldest&detail=none&after={after}");
    let rest = insist(addr, reader, &line, "-", &json!({}));
    assert_eq!(rest["items"], json!([]), "nothing beside what was sent");
}

// B1 C2 C3 C4, fault 9
#[test]
fn an_inbox_holds_what_was_acknowledged_each_once_in_order() {
    senders_outlive_kills(None);
}

// B1 C2 C3 C4 L9
#[test]
fn an_inbox_holds_what_was_acknowledged_each_once_in_order_on_postgres() {
    let url = comity_testkit::kit::fresh_schema_url();
    senders_outlive_kills(Some(url.clone()));
    comity_testkit::kit::drop_schema(&url);
}
