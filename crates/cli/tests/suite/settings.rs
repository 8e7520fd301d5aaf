//! Where settings and directories come from.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::place::{COMITY, Place, answer};

fn explain(place: &Place, more: &[&str], variables: &[(&str, &str)]) -> Value {
    let mut command = place.command(&[&["config", "explain", "--json"], more].concat());
    command.envs(variables.iter().copied());
    let explained = answer(&command.output().unwrap()).unwrap();
    let items = explained["items"].as_array().unwrap().iter();
    let rows = items.map(|row| (row["key"].as_str().unwrap().to_owned(), row.clone()));
    Value::Object(rows.collect())
}

#[test]
fn flags_win_over_the_environment_over_the_file_over_defaults() {
    let place = Place::new();
    std::fs::create_dir(place.data()).unwrap();
    let file = place.data().join("comity.toml");
    let text = "[server]\naddr = \"127.0.0.1:1\"\ndatabase = \"postgres://a:canary@file/x\"\n\
        [limits]\nrequests_burst = 7\n";
    std::fs::write(&file, text).unwrap();
    let from_file = format!("file {}", file.display());
    let explained = explain(&place, &[], &[]);
    assert_eq!(explained["server.addr"]["from"], json!(from_file));
    assert_eq!(
        explained["server.database"]["value"],
        "postgres://a:***@file/x"
    );
    assert_eq!(explained["limits.requests_burst"]["value"], 7);
    assert_eq!(explained["readers.threads"]["from"], "default");
    let variables = [
        ("COMITY_SERVER_ADDR", "127.0.0.1:2"),
        ("COMITY_DATABASE_URL", "postgres://b:canary@variable/x"),
        ("COMITY_SERVER_ALLOWED_HOSTS", "one, two"),
        ("COMITY_READERS_THREADS", "3"),
        ("COMITY_ARCHIVE_ENABLED", "false"),
        ("COMITY_ARCHIVE_INTERVAL", "1s"),
    ];
    let explained = explain(&place, &[], &variables);
    assert_eq!(explained["server.addr"]["value"], "127.0.0.1:2");
    assert_eq!(explained["server.addr"]["from"], "env COMITY_SERVER_ADDR");
    assert_eq!(
        explained["server.allowed_hosts"]["value"],
        json!(["one", "two"])
    );
    assert_eq!(explained["readers.threads"]["value"], 3);
    assert_eq!(explained["archive.enabled"]["value"], false);
    assert_eq!(explained["archive.interval"]["value"], "1s");
    assert_eq!(explained["archive.batch_max"]["value"], 500);
    let flag = ["--database", "postgres://c:canary@flag/x"];
    let explained = explain(&place, &flag, &variables);
    assert_eq!(
        explained["server.database"]["value"],
        "postgres://c:***@flag/x"
    );
    assert_eq!(explained["server.database"]["from"], "flag --database");
    assert!(!explained.to_string().contains("canary")); // S18
}

#[test]
fn an_unknown_key_stops_everything_but_help() {
    let place = Place::new();
    std::fs::create_dir(place.data()).unwrap();
    std::fs::write(
        place.data().join("comity.toml"),
        "[limits]\nrequest_burst = 7\n",
    )
    .unwrap();
    let (exit, error) = place.ask("project list --operator").unwrap_err();
    assert_eq!(exit, 2);
    let message = error["message"].as_str().unwrap();
    assert!(message.ends_with(
        "comity.toml`: there is no key `limits.request_burst`; did you mean `limits.requests_burst`?"
    ), "{message}");
    assert!(place.run(&["--help"]).status.success());
}

#[test]
fn a_server_beyond_this_machine_must_be_wanted() {
    let place = Place::new();
    let (exit, error) = place.ask("serve --addr 0.0.0.0:0").unwrap_err();
    assert_eq!((exit, &error["field"]), (3, &json!("--addr"))); // S21
}

fn run_in(directory: &Path, home: &Path, words: &[&str]) -> Value {
    let mut command = Command::new(COMITY);
    command
        .args(words)
        .args(["--operator", "--json"])
        .current_dir(directory);
    let output = command.env_clear().env("HOME", home).output().unwrap();
    answer(&output).unwrap()
}

fn git(directory: &Path, words: &[&str]) {
    let done = Command::new("git")
        .current_dir(directory)
        .args(words)
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "{words:?}: {}",
        String::from_utf8_lossy(&done.stderr)
    );
}

#[test]
fn a_linked_worktree_uses_the_main_ones_directory_and_project() {
    let place = Place::new();
    let base = place.path().canonicalize().unwrap();
    let main = base.join("main");
    std::fs::create_dir_all(main.join("src")).unwrap();
    git(&main, &["init", "-q"]);
    let author = ["-c", "user.name=x", "-c", "user.email=x@example.org"];
    git(
        &main,
        &[&author[..], &["commit", "-q", "--allow-empty", "-m", "x"]].concat(),
    );
    git(&main, &["worktree", "add", "-q", "../linked"]);
    let linked = base.join("linked");
    // Without a `.comity` it is the user's.
    let explained = run_in(&linked, &base, &["config", "explain"]);
    assert_eq!(explained["data"], json!(base.join(".local/share/comity")));
    let made = run_in(&linked, &base, &["init"]);
    assert_eq!(made["data"], json!(main.join(".comity")));
    for directory in [&main, &main.join("src"), &linked] {
        let status = run_in(directory, &base, &["project", "status"]);
        assert_eq!(status["project"]["key"], json!(main));
        let explained = run_in(directory, &base, &["config", "explain"]);
        assert_eq!(explained["data"], json!(main.join(".comity")));
    }
    // A nearer one wins.
    std::fs::create_dir(linked.join(".comity")).unwrap();
    let explained = run_in(&linked, &base, &["config", "explain"]);
    assert_eq!(explained["data"], json!(linked.join(".comity")));
}

#[test]
fn empty_variables_are_none() {
    let place = Place::new();
    let mut command = place.command(&["join", "--operator", "--json"]);
    for name in [
        "COMITY_PROJECT",
        "COMITY_URL",
        "COMITY_AS",
        "COMITY_TOKEN",
        "COMITY_LOG",
    ] {
        command.env(name, "");
    }
    let joined = answer(&command.output().unwrap()).unwrap();
    assert_eq!(joined["created"], true);
    let mut command = place.command(&["status", "--json"]);
    let wrong = command.env("COMITY_PROJECT", " ").output().unwrap();
    assert_eq!(answer(&wrong).unwrap_err().0, 3);
}
