//! The real binary: exit codes, locks, signals, and what it prints.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has failed"
)]

#[path = "suite/archive.rs"]
mod archive;
#[path = "suite/commands.rs"]
mod commands;
#[path = "suite/consumer_kill.rs"]
mod consumer_kill;
#[path = "suite/discoveries.rs"]
mod discoveries;
#[path = "suite/dispatches.rs"]
mod dispatches;
#[path = "suite/doors.rs"]
mod doors;
#[path = "suite/event_hooks.rs"]
mod event_hooks;
#[path = "suite/events.rs"]
mod events;
#[path = "suite/guard.rs"]
mod guard;
#[path = "suite/guard_held.rs"]
mod guard_held;
#[path = "suite/hook.rs"]
mod hook;
#[path = "suite/identity.rs"]
mod identity;
#[path = "suite/leases.rs"]
mod leases;
#[path = "suite/mail.rs"]
mod mail;
#[path = "suite/mail_wait.rs"]
mod mail_wait;
#[path = "suite/mail_words.rs"]
mod mail_words;
#[path = "suite/mcp.rs"]
mod mcp;
#[path = "suite/mcp_client.rs"]
mod mcp_client;
#[path = "suite/mcp_join.rs"]
mod mcp_join;
#[path = "suite/mcp_leases.rs"]
mod mcp_leases;
#[path = "suite/mcp_runs.rs"]
mod mcp_runs;
#[path = "suite/mcp_state.rs"]
mod mcp_state;
#[path = "suite/moving.rs"]
mod moving;
#[path = "suite/output.rs"]
mod output;
#[path = "suite/place.rs"]
mod place;
#[path = "suite/post.rs"]
mod post;
#[path = "suite/repository.rs"]
mod repository;
#[path = "suite/runs.rs"]
mod runs;
#[path = "suite/settings.rs"]
mod settings;
#[path = "suite/shop.rs"]
mod shop;
#[path = "suite/state.rs"]
mod state;
#[path = "suite/worker.rs"]
mod worker;
#[path = "suite/worker_ends.rs"]
mod worker_ends;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::place::{COMITY, Place, answer};

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
    let request = request.to_string();
    let made = place.run(&["call", "register_agent", &request, "--operator", "--json"]);
    let shown = String::from_utf8_lossy(&made.stdout).into_owned();
    let token_file: PathBuf =
        serde_json::from_value(answer(&made).unwrap()["token_file"].clone()).unwrap();
    let token = std::fs::read_to_string(&token_file).unwrap();
    assert!(!shown.contains(token.trim()), "{shown}");
    assert_eq!((mode(&token_file), mode(&place.data())), (0o600, 0o700)); // S21
    let me = place.json(&["call", "orient", "--as", "blue"]).unwrap();
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
    assert_eq!(code(place.json(&["call", "orient", "{", "--operator"])), 3);
    assert_eq!(code(place.json(&["call", "list_tokens"])), 1);
    assert_eq!(place.run(&["nonsense"]).status.code(), Some(3));
    assert_eq!(place.run(&["--version"]).status.code(), Some(0));
    let (exit, error) = place
        .json(&["call", "list_agnets", "--operator"])
        .unwrap_err();
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
    let found = place.run(&["doctor", "--operator", "--json"]);
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
    let winners = servers
        .iter()
        .zip(&lines)
        .filter(|(_, line)| !line.is_empty());
    let winners: Vec<_> = winners.map(|(server, _)| server.id()).collect();
    let [winner] = winners[..] else {
        panic!("{lines:?}");
    };
    for (mut server, line) in servers.into_iter().zip(lines) {
        if !line.is_empty() {
            // Commands go to it meanwhile.
            place.call("list_projects", &json!({})).unwrap();
            server.kill().unwrap();
            server.wait().unwrap();
            continue;
        }
        let (exit, refused) = answer(&server.wait_with_output().unwrap()).unwrap_err();
        assert_eq!(exit, 6);
        let winner = format!("process {winner}");
        assert!(refused["message"].as_str().unwrap().contains(&winner));
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
    let addr = said["addr"].as_str().unwrap();
    let mut stream = TcpStream::connect(addr).unwrap();
    write!(
        stream,
        "GET /health HTTP/1.1\r\nHost: {addr}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    let ended = server.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(2));
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(said.contains("the disk failed"), "{said}");
    assert!(place.run(&["doctor", "--operator"]).status.success());
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
    let made = place.json(&["backup", "--operator"]).unwrap();
    let path: PathBuf = serde_json::from_value(made["backup"].clone()).unwrap();
    assert_eq!(mode(&path), 0o600);
    let other = Place::new();
    drop(other.run(&["call", "list_projects", "--operator"]));
    std::fs::copy(&path, other.data().join("comity.db")).unwrap();
    let projects = other.call("list_projects", &json!({})).unwrap();
    assert_eq!(projects["items"][0]["key"], "/srv/web");
}
