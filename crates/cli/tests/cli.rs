//! The real binary: exit codes, locks, signals, and what it prints.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has failed"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const COMITY: &str = env!("CARGO_BIN_EXE_comity");

struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self { directory }
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(COMITY);
        command.arg("--data").arg(self.data()).args(arguments);
        command.env_remove("COMITY_TOKEN").stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn call(&self, operation: &str, request: &Value) -> Result<Value, (i32, Value)> {
        answer(&self.run(&["call", operation, &request.to_string(), "--operator"]))
    }

    /// Starts a server and waits until it says where it listens.
    fn serve(&self) -> Server {
        let mut child = self
            .command(&["serve", "--addr", "127.0.0.1:0", "--json"])
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

struct Server {
    child: Child,
    addr: String,
}

impl Server {
    fn get(&self, path: &str) -> String {
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

    fn signal(&self, signal: rustix::process::Signal) {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, signal).unwrap();
    }

    fn wait(mut self) -> Option<i32> {
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

fn answer(output: &Output) -> Result<Value, (i32, Value)> {
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

fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

// F10's base: an operation is reached by its name, and its token goes into a file (S18)
#[test]
fn a_call_reaches_an_operation_and_keeps_the_token_out_of_sight() {
    let place = Place::new();
    place
        .call("ensure_project", &json!({ "key": "/srv/web" }))
        .unwrap();
    let request = json!({ "project": "web", "name": "Blue", "program": "p", "model": "m" });
    let made = place.run(&["call", "register_agent", &request.to_string(), "--operator"]);
    let shown = String::from_utf8_lossy(&made.stdout).into_owned();
    let token_file: PathBuf =
        serde_json::from_value(answer(&made).unwrap()["token_file"].clone()).unwrap();
    let token = std::fs::read_to_string(&token_file).unwrap();
    assert!(!shown.contains(token.trim()), "{shown}");
    assert_eq!((mode(&token_file), mode(&place.data())), (0o600, 0o700)); // S21
    let me = answer(&place.run(&["call", "orient", "--as", "blue"])).unwrap();
    assert_eq!(me["name"], "Blue");
    let by_environment = place
        .command(&["call", "orient"])
        .env("COMITY_TOKEN", token.trim())
        .output();
    assert_eq!(answer(&by_environment.unwrap()).unwrap()["name"], "Blue");
}

// SURFACES' exit codes, as far as there are ways to reach them
#[test]
fn exit_codes_tell_what_happened() {
    let place = Place::new();
    let code = |result: Result<Value, (i32, Value)>| result.unwrap_err().0;
    place
        .call("ensure_project", &json!({ "key": "/srv/web" }))
        .unwrap();
    assert_eq!(
        code(place.call("project_status", &json!({ "project": "nowhere" }))),
        1
    );
    assert_eq!(
        code(place.call("ensure_project", &json!({ "kye": "/srv/web" }))),
        3
    );
    assert_eq!(
        code(answer(&place.run(&["call", "orient", "{", "--operator"]))),
        3
    );
    assert_eq!(code(answer(&place.run(&["call", "list_tokens"]))), 1);
    assert_eq!(place.run(&["nonsense"]).status.code(), Some(3));
    assert_eq!(place.run(&["--version"]).status.code(), Some(0));
    let (exit, error) = answer(&place.run(&["call", "list_agnets", "--operator"])).unwrap_err();
    assert_eq!(
        (exit, error["hint"].as_str().unwrap()),
        (1, "did you mean `list_agents`?")
    );
}

// A12: damage is refused with its own exit code, and the doctor says so
#[test]
fn damage_has_an_exit_code_of_its_own() {
    let place = Place::new();
    place
        .call("ensure_project", &json!({ "key": "/srv/web" }))
        .unwrap();
    let database = place.data().join("comity.db");
    let changed = Command::new("sqlite3")
        .arg(&database)
        .arg("update project set name = 'x'")
        .status();
    assert!(changed.unwrap().success());
    let found = place.run(&["doctor"]);
    assert_eq!(found.status.code(), Some(8));
    let findings: Value = serde_json::from_slice(&found.stdout).unwrap();
    assert_eq!(findings["ok"], false);
    for extra in ["comity.db-wal", "comity.db-shm"] {
        let _ = std::fs::remove_file(place.data().join(extra));
    }
    std::fs::write(&database, "not a database, not a database, not a database").unwrap();
    let (exit, error) = place.call("list_projects", &json!({})).unwrap_err();
    assert_eq!((exit, error["error"].as_str().unwrap()), (8, "damaged"));
    assert!(error["hint"].as_str().unwrap().contains("backup"));
}

// A7: of many servers one lives; the others name it and exit 6
#[test]
fn one_server_per_data_directory() {
    let place = Place::new();
    drop(place.run(&["call", "list_projects", "--operator"]));
    let start = |_| {
        let mut command = place.command(&["serve", "--addr", "127.0.0.1:0", "--json"]);
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let mut servers: Vec<_> = (0..20).map(start).collect();
    let first_line = |child: &mut Child| {
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        line
    };
    let lines: Vec<_> = servers.iter_mut().map(first_line).collect();
    assert_eq!(lines.iter().filter(|line| !line.is_empty()).count(), 1);
    for (mut server, line) in servers.into_iter().zip(lines) {
        if !line.is_empty() {
            let refused = place.call("list_projects", &json!({})).unwrap_err();
            assert_eq!(refused.0, 6);
            assert!(
                refused.1["message"]
                    .as_str()
                    .unwrap()
                    .contains(&server.id().to_string())
            );
            server.kill().unwrap();
        }
        let status = server.wait().unwrap();
        assert!(status.code() == Some(6) || !line.is_empty(), "{status:?}");
    }
    // After a kill the next one starts.
    let next = place.serve();
    next.signal(rustix::process::Signal::TERM);
    assert_eq!(next.wait(), Some(0));
}

// B8, fault 10: SIGTERM ends in order, and the operator's token is there
#[test]
fn a_server_answers_and_stops_when_told() {
    let place = Place::new();
    let server = place.serve();
    let health = server.get("/health");
    assert!(
        health.starts_with("HTTP/1.1 200") && health.ends_with("{\"status\":\"ok\"}"),
        "{health}"
    ); // K5
    assert!(server.get("/nothing").starts_with("HTTP/1.1 404"));
    assert_eq!(mode(&place.data().join("operator.token")), 0o600);
    let started = Instant::now();
    server.signal(rustix::process::Signal::TERM);
    assert_eq!(server.wait(), Some(0));
    assert!(started.elapsed() < Duration::from_secs(5));
    // The same token is good after a restart.
    let token = std::fs::read_to_string(place.data().join("operator.token")).unwrap();
    drop(place.serve());
    assert_eq!(
        std::fs::read_to_string(place.data().join("operator.token")).unwrap(),
        token
    );
}

// fault 10: a second signal ends at once, though a request hangs
#[test]
fn a_second_signal_ends_at_once() {
    let place = Place::new();
    let server = place.serve();
    let mut hanging = TcpStream::connect(&server.addr).unwrap();
    hanging.write_all(b"GET /health HTTP/1.1\r\n").unwrap();
    server.signal(rustix::process::Signal::INT);
    // The listener closes when the stop begins; only then is a signal the second one.
    while TcpStream::connect(&server.addr).is_ok() {
        std::thread::yield_now();
    }
    server.signal(rustix::process::Signal::INT);
    assert_eq!(server.wait(), Some(2));
}

// A11: after a failed sync the server gives up and ends, and nothing it said was untrue
#[test]
fn a_server_whose_disk_fails_ends() {
    let place = Place::new();
    drop(place.serve());
    place
        .call("ensure_project", &json!({ "key": "/srv/web" }))
        .unwrap();
    let mut server = Command::new("strace")
        .args([
            "-f",
            "-qq",
            "-o",
            "/dev/null",
            "-e",
            "trace=fsync,fdatasync",
        ])
        .args(["-e", "inject=fsync,fdatasync:error=EIO", COMITY, "--data"])
        .arg(place.data())
        .args(["serve", "--addr", "127.0.0.1:0", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    let said: Value = serde_json::from_str(&line).unwrap();
    // The probe commits, and the commit's sync fails.
    let mut stream = TcpStream::connect(said["addr"].as_str().unwrap()).unwrap();
    write!(
        stream,
        "GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    let ended = server.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(2));
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(said.contains("the disk failed"), "{said}");
    assert!(place.run(&["doctor"]).status.success());
}

// S21
#[test]
fn a_directory_open_to_others_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    std::fs::create_dir(place.data()).unwrap();
    std::fs::set_permissions(place.data(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let (exit, error) = place.call("list_projects", &json!({})).unwrap_err();
    assert_eq!(exit, 2);
    assert!(
        error["message"].as_str().unwrap().contains("chmod 700"),
        "{error}"
    );
}

#[test]
fn a_backup_is_one_private_file_that_opens() {
    let place = Place::new();
    place
        .call("ensure_project", &json!({ "key": "/srv/web" }))
        .unwrap();
    let made = answer(&place.run(&["backup"])).unwrap();
    let path: PathBuf = serde_json::from_value(made["backup"].clone()).unwrap();
    assert_eq!(mode(&path), 0o600);
    let other = Place::new();
    drop(other.run(&["call", "list_projects", "--operator"]));
    std::fs::copy(&path, other.data().join("comity.db")).unwrap();
    let projects = other.call("list_projects", &json!({})).unwrap();
    assert_eq!(projects["items"][0]["key"], "/srv/web");
}
