//! The archive from the command line, with a server and without one.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use comity_domain::limits::CHAIN_LINKS_TO_ASK;
use serde_json::{Value, json};

use crate::place::{Place, answer};

/// A place with some events in its log.
fn with_events() -> Place {
    let place = Place::new();
    place.ask("join --name Blue --operator").unwrap();
    place.ask("join --name Red --operator").unwrap();
    let send = [
        "mail",
        "send",
        "Red",
        "--as",
        "Blue",
        "--subject",
        "Ready to merge",
        "--body",
        "Please look.",
    ];
    place.json(&send).unwrap();
    place
}

fn repository(place: &Place) -> PathBuf {
    place.data().join("archive.git")
}

fn files(repository: &Path) -> String {
    let listed = Command::new("git")
        .arg("-C")
        .arg(repository)
        .args(["ls-tree", "-r", "--name-only", "main"])
        .output()
        .unwrap();
    String::from_utf8(listed.stdout).unwrap()
}

fn said(place: &Place, line: &str) -> String {
    let words: Vec<_> = line.split_whitespace().collect();
    let output = place.run(&words);
    assert!(output.status.success(), "{line}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn without_a_server_it_rests_until_it_is_synced() {
    let place = with_events();
    let before = place.ask("archive status --operator").unwrap();
    assert_eq!(
        (&before["state"], &before["through"]),
        (&json!("resting"), &json!(0))
    );
    let lag = before["lag"].as_i64().unwrap();
    assert!(lag > 2, "{before}");
    let told = said(&place, "archive status --operator");
    assert!(
        told.starts_with("state       resting; no server runs\nthrough     event 0\n"),
        "{told}"
    );
    assert!(
        told.contains("next        `comity archive sync`, or `comity serve`"),
        "{told}"
    );
    assert!(!repository(&place).exists(), "asking makes nothing");
    let synced = place.ask("archive sync --operator").unwrap();
    assert_eq!(
        (&synced["lag"], &synced["through"]),
        (&json!(0), &json!(lag))
    );
    let files = files(&repository(&place));
    assert!(
        files
            .lines()
            .any(|file| file.ends_with("-ready-to-merge.md")),
        "{files}"
    );
    // Again there is nothing to do.
    let told = said(&place, "archive sync --operator");
    assert!(
        told.starts_with(&format!("archived up to event {lag} in ")),
        "{told}"
    );
}

#[test]
fn it_is_compared_made_anew_and_tried_again_without_a_server() {
    let place = with_events();
    place.ask("archive sync --operator").unwrap();
    let before = files(&repository(&place));
    let verified = place.ask("archive verify --operator").unwrap();
    assert_eq!(verified["ok"], true, "{verified}");
    let rebuilt = place.ask("archive rebuild --operator").unwrap();
    assert_eq!(rebuilt["through"], verified["through"]);
    assert!(
        Path::new(rebuilt["old"].as_str().unwrap()).exists(),
        "{rebuilt}"
    );
    assert_eq!(files(&repository(&place)), before);
    let retried = said(&place, "archive retry --operator");
    assert_eq!(retried, "written: 0 files; nothing is left in quarantine\n");
}

/// Prunes a log, whoever answers.
fn prune_and_look(place: &Place) {
    place.ask("archive sync --operator").unwrap();
    let told = said(place, "events prune --before 3 --dry-run --operator");
    assert_eq!(told, "2 events would go, up to 2\n");
    let told = said(place, "events prune --before 3 --operator");
    assert_eq!(told, "2 events went; up to 2 the archive alone has them\n");
    let (code, error) = place.ask("events list --since 0 --operator").unwrap_err();
    assert_eq!(
        (code, &error["error"], &error["oldest_seq"]),
        (1, &json!("pruned"), &json!(3))
    );
    // A consumer that has acknowledged nothing keeps the rest.
    let durable = "events consumer add slow --since 2 --operator";
    place.ask(durable).unwrap();
    let (code, error) = place.ask("events prune --before 4 --operator").unwrap_err();
    assert_eq!(
        (code, &error["error"]),
        (1, &json!("still_needed")),
        "{error}"
    );
    assert_eq!(error["by"][0]["may_go_to"], 2, "{error}");
    let told = said(place, "events prune --before 4 --dry-run --operator");
    let named = "in the way: the durable consumer `slow` (up to event 2 may go)";
    assert!(told.contains(named), "{told}");
    assert_eq!(place.ask("doctor --operator").unwrap()["ok"], true);
    assert_eq!(place.ask("archive verify --operator").unwrap()["ok"], true);
}

#[test]
fn a_log_is_pruned_where_the_archive_has_it_with_and_without_a_server() {
    let place = with_events();
    let (_, error) = place.ask("events prune --before 3 --operator").unwrap_err();
    assert_eq!(error["error"], "unusable");
    let why = error["message"].as_str().unwrap();
    assert!(why.starts_with("there is no archive at"), "{why}");
    for wrong in ["events prune", "events prune --before 2 --older-than 1d"] {
        let words: Vec<_> = wrong.split_whitespace().chain(["--operator"]).collect();
        assert_eq!(place.run(&words).status.code(), Some(3), "{wrong}");
    }
    prune_and_look(&place);
    let place = with_events();
    let server = place.serve();
    prune_and_look(&place);
    drop(server);
}

#[test]
fn a_server_archives_by_itself_and_sync_waits_for_it() {
    let place = Place::new();
    let server = place.serve();
    let made = place.ask("join --name Blue --operator").unwrap();
    assert_eq!(made["created"], true);
    let synced = place.ask("archive sync --operator").unwrap();
    assert_eq!(
        (&synced["state"], &synced["lag"]),
        (&json!("following"), &json!(0))
    );
    let told = said(&place, "archive sync --operator");
    assert!(told.ends_with("does so by itself\n"), "{told}");
    let verified = place.ask("archive verify --operator").unwrap();
    assert_eq!(verified["ok"], true, "{verified}");
    let checks = place.ask("health --operator").unwrap();
    let names = checks["checks"].as_array().unwrap().iter();
    let archive = names.filter(|check| check["name"] == "archive");
    assert_eq!(
        archive.map(|check| &check["status"]).collect::<Vec<_>>(),
        ["ok"]
    );
    drop(server);
}

#[test]
fn switched_off_it_says_so_and_does_nothing() {
    let place = with_events();
    std::fs::write(
        place.data().join("comity.toml"),
        "[archive]\nenabled = false\n",
    )
    .unwrap();
    let off = |place: &Place| {
        assert_eq!(
            place.ask("archive status --operator").unwrap()["state"],
            "off"
        );
        let (exit, error) = place.ask("archive sync --operator").unwrap_err();
        assert_eq!((exit, &error["error"]), (2, &json!("unusable")));
        assert!(
            error["message"].as_str().unwrap().contains("switched off"),
            "{error}"
        );
    };
    off(&place);
    let server = place.serve();
    off(&place);
    drop(server);
    assert!(!repository(&place).exists());
}

// E5
#[test]
fn agents_have_no_business_with_it() {
    let place = with_events();
    for command in ["status", "sync", "verify", "rebuild", "retry"] {
        let line = format!("archive {command} --as Blue");
        let (exit, error) = place.ask(&line).unwrap_err();
        assert_eq!((exit, &error["error"]), (1, &json!("forbidden")), "{line}");
    }
    assert!(!repository(&place).exists());
}

// B8, fault 10: whatever git does, a stop does not wait for it
#[test]
fn a_git_that_hangs_does_not_keep_a_server_from_stopping() {
    let place = with_events();
    let (bin, pipe) = (place.path().join("bin"), place.path().join("pipe"));
    std::fs::create_dir(&bin).unwrap();
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let hangs = place.path().join("hangs");
    let script = format!(
        "#!/bin/sh\nPATH=${{PATH#*:}}\ncase \" $* \" in *\" fast-import \"*)\n\
         touch '{}'; exec cat '{}';;\nesac\nexec git \"$@\"\n",
        hangs.display(),
        pipe.display()
    );
    let git = bin.join("git");
    std::fs::write(&git, script).unwrap();
    std::fs::set_permissions(&git, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut server = place
        .command(&["serve", "--addr", "127.0.0.1:0", "--json"])
        .env("PATH", path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while !hangs.exists() {
        assert!(started.elapsed() < Duration::from_secs(20));
        std::thread::yield_now();
    }
    // Requests go on.
    let asked = place.ask("project list --operator --timeout 5s").unwrap();
    assert!(asked["items"].is_array());
    let status: Value = place.ask("archive status --operator").unwrap();
    assert_eq!(status["through"], 0, "{status}");
    let told = Instant::now();
    let id = rustix::process::Pid::from_child(&server);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    assert_eq!(server.wait().unwrap().code(), Some(0));
    assert!(
        told.elapsed() < Duration::from_secs(5),
        "{:?}",
        told.elapsed()
    );
    // What was left ends, and lets go of the archive.
    drop(std::fs::OpenOptions::new().write(true).open(&pipe).unwrap());
    let synced = loop {
        match answer(&place.run(&["archive", "sync", "--operator", "--json"])) {
            Ok(synced) => break synced,
            Err((_, error)) => assert!(error["message"].as_str().unwrap().contains("archive.lock")),
        }
        assert!(started.elapsed() < Duration::from_secs(20));
    };
    assert_eq!(synced["lag"], 0);
}

// A12: what is in the archive stays there, so a broken chain does not come so far
#[test]
fn a_damaged_log_is_not_archived() {
    let place = with_events();
    for nth in 0..=CHAIN_LINKS_TO_ASK {
        let key = format!("/srv/{nth}");
        place
            .call("ensure_project", &json!({ "key": key }))
            .unwrap();
    }
    let change = "drop trigger event_update; update event set actor = 'agent:9' where seq = 2";
    let shell = Command::new("sqlite3")
        .arg(place.data().join("comity.db"))
        .arg(change)
        .status();
    assert!(shell.unwrap().success());
    for write in ["archive sync", "archive rebuild", "archive retry"] {
        let (exit, error) = place.ask(&format!("{write} --operator")).unwrap_err();
        assert_eq!((exit, &error["error"]), (8, &json!("damaged")), "{write}");
    }
    assert!(!repository(&place).exists());
}

// A14: what the archive has and the database lost is not written over
#[test]
fn a_server_refuses_a_database_that_is_behind_its_archive() {
    let place = with_events();
    let kept = place.json(&["backup", "--operator"]).unwrap();
    place.ask("join --name Green --operator").unwrap();
    place.ask("archive sync --operator").unwrap();
    let database = place.data().join("comity.db");
    std::fs::copy(kept["backup"].as_str().unwrap(), &database).unwrap();
    for extra in ["comity.db-wal", "comity.db-shm"] {
        let _ = std::fs::remove_file(place.data().join(extra));
    }
    let (exit, error) = place.ask("serve --addr 127.0.0.1:0").unwrap_err();
    assert_eq!((exit, &error["error"]), (7, &json!("behind_archive")));
    let (exit, error) = place.ask("archive sync --operator").unwrap_err();
    assert_eq!(exit, 7, "{error}");
    let lost = error["archive"].as_i64().unwrap();
    // A command without a server writes nothing either, whether or not the archive's end was noted; it
    // may look.
    let note = repository(&place).join("comity.end");
    for noted in [std::fs::read_to_string(&note).unwrap(), "x 1\n".to_owned()] {
        std::fs::write(&note, noted).unwrap();
        let (exit, error) = place.ask("join --name Pink --operator").unwrap_err();
        assert_eq!((exit, &error["error"]), (7, &json!("behind_archive")));
    }
    let agents = place.ask("agent list --operator").unwrap();
    assert!(!agents.to_string().contains("Pink"), "{agents}");
    place.ask("backup --operator").unwrap();
    for change in [
        "events prune --before 2",
        "archive rebuild",
        "archive retry",
    ] {
        let (exit, error) = place.ask(&format!("{change} --operator")).unwrap_err();
        assert_eq!(exit, 7, "{change}: {error}");
    }
    let health = place.run(&["health", "--operator", "--json"]);
    let said = String::from_utf8_lossy(&health.stdout).into_owned();
    assert!(
        said.contains("failing") && said.contains("lacks what its archive has"),
        "{said}"
    );
    // With the loss accepted, everything goes on above it; the archive that has it is kept.
    let server = place.serve_with(&["--new-epoch"]);
    let made = place.call("ensure_project", &json!({ "key": "/srv/new" }));
    let made = made.unwrap();
    assert!(made["project"]["id"].as_i64().unwrap() > lost, "{made}");
    let synced = place.ask("archive sync --operator").unwrap();
    assert_eq!(
        (&synced["lag"], &synced["state"]),
        (&json!(0), &json!("following"))
    );
    assert!(synced["through"].as_i64().unwrap() > lost, "{synced}");
    let verified = place.ask("archive verify --operator").unwrap();
    assert_eq!(verified["ok"], true, "{verified}");
    assert_eq!(place.ask("doctor --operator").unwrap()["ok"], true);
    drop(server);
    let entries = std::fs::read_dir(place.data()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let archives: Vec<_> = names.filter(|name| name.contains(".git")).collect();
    assert_eq!(archives.len(), 2, "{archives:?}");
    // Once is enough: nothing is lost now.
    let before = place.ask("archive status --operator").unwrap()["through"].clone();
    drop(place.serve_with(&["--new-epoch"]));
    let head = place.ask("project list --operator").unwrap()["as_of_seq"].clone();
    assert_eq!(head, before, "no second epoch");
}

#[test]
fn mail_is_exported_with_a_server_and_without_one() {
    let place = with_events();
    let export = |words: &[&str]| place.json(&[&["export", "--operator"], words].concat());
    let made = export(&[]).unwrap();
    assert_eq!(
        (&made["messages"], &made["pages"]),
        (&json!(1), &json!(2)),
        "{made}"
    );
    let directory = PathBuf::from(made["directory"].as_str().unwrap());
    assert_eq!(directory.parent(), Some(&*place.data().join("exports")));
    let index = std::fs::read_to_string(directory.join("index.html")).unwrap();
    assert!(index.contains("Ready to merge"), "{index}");
    let _server = place.serve();
    let to = place.path().join("pages");
    let made = export(&[".", "--to", to.to_str().unwrap()]).unwrap();
    assert_eq!(made["directory"], to.to_str().unwrap());
    let (exit, error) = export(&["--to", to.to_str().unwrap()]).unwrap_err();
    assert_eq!((exit, &error["field"]), (3, &json!("to")), "{error}");
}
