//! A workspace that is lost and comes back, and one that moves to another engine and back.

use std::os::unix::fs::DirBuilderExt as _;

use comity_testkit::{Engine, Kit, bulk};
use serde_json::{Value, json};

use crate::place::Place;

/// A place with a message that carries something.
fn with_mail() -> Place {
    let place = Place::new();
    place.ask("join --name Blue --operator").unwrap();
    place.ask("join --name Red --operator").unwrap();
    std::fs::write(place.path().join("plan.txt"), "the plan").unwrap();
    let send = [
        "mail",
        "send",
        "Red",
        "--as",
        "Blue",
        "--subject",
        "s",
        "--body",
        "b",
        "--attach",
        "plan.txt",
    ];
    place.json(&send).unwrap();
    place.ask("reserve src --as Blue").unwrap();
    place
}

fn state(place: &Place) -> (Value, Value) {
    let found = place.ask("doctor --operator").unwrap();
    assert_eq!(found["ok"], true, "{found}");
    (found["state_hash"].clone(), found["seq"].clone())
}

// A14 D11 D12: a lost database comes back from the archive, as it was
#[test]
fn a_lost_database_comes_back_from_its_archive() {
    let place = with_mail();
    place.ask("archive sync --operator").unwrap();
    let before = state(&place);
    let archive = place.data().join("archive.git");
    let kept = place.path().join("kept.db");
    std::fs::copy(place.data().join("comity.db"), &kept).unwrap();
    place
        .ask("mail send Red --as Blue --subject later --body b")
        .unwrap();
    place.ask("archive sync --operator").unwrap();
    let after = state(&place);
    for file in ["comity.db", "comity.db-wal", "comity.db-shm"] {
        let _ = std::fs::remove_file(place.data().join(file));
    }
    // An older copy in its place is not served.
    std::fs::copy(&kept, place.data().join("comity.db")).unwrap();
    let refused = place.run(&["serve", "--addr", "127.0.0.1:0"]);
    assert_eq!(refused.status.code(), Some(7), "{refused:?}");
    for file in ["comity.db", "comity.db-wal", "comity.db-shm"] {
        let _ = std::fs::remove_file(place.data().join(file));
    }
    let path = archive.to_str().unwrap();
    let agents = place.json(&["restore", "--from-archive", path, "--as", "Blue"]);
    assert_eq!(agents.unwrap_err().0, 1, "only the operator");
    let restored = place
        .json(&["restore", "--from-archive", path, "--operator"])
        .unwrap();
    assert_eq!(restored["restored"]["seq"], after.1);
    assert_eq!(state(&place), after);
    assert_ne!(before, after);
    // Who was there still is, with its token, its mail and what it carries.
    let inbox = place.ask("mail inbox --as Red").unwrap();
    assert_eq!(inbox["items"].as_array().unwrap().len(), 2);
    // Once more changes nothing.
    place
        .json(&["restore", "--from-archive", path, "--operator"])
        .unwrap();
    assert_eq!(state(&place), after);
    assert_eq!(place.ask("archive verify --operator").unwrap()["ok"], true);
}

// D11, K6: there and back, to the same state
#[test]
fn a_workspace_moves_to_postgresql_and_back() {
    let place = with_mail();
    let before = state(&place);
    let url = comity_testkit::kit::fresh_schema_url();
    let moved = place
        .json(&["migrate", "--to", &url, "--operator"])
        .unwrap();
    assert_eq!(
        (&moved["migrated"]["state_hash"], &moved["migrated"]["seq"]),
        (&before.0, &before.1)
    );
    let settings = place.data().join("comity.toml");
    std::fs::write(&settings, format!("[server]\ndatabase = {}\n", json!(url))).unwrap();
    assert_eq!(state(&place), before);
    let own = place.json(&["migrate", "--to", &url, "--operator"]);
    assert_eq!(own.unwrap_err().0, 3, "to where it is already");
    place
        .ask("mail send Red --as Blue --subject there --body b")
        .unwrap();
    let there = state(&place);
    // The file still holds the beginning of the same log, and the rest follows.
    place.ask("migrate --to sqlite --operator").unwrap();
    std::fs::remove_file(&settings).unwrap();
    assert_eq!(state(&place), there);
    comity_testkit::kit::drop_schema(&url);
}

/// A place whose log is long and has every kind of event.
fn with_everything(events_min: i64) -> Place {
    let place = Place::new();
    let mut kit = Kit::new(Engine::Sqlite);
    bulk::write(&mut kit, events_min);
    let mut directory = std::fs::DirBuilder::new();
    directory.mode(0o700).create(place.data()).unwrap();
    let database = place.data().join("comity.db");
    kit.kernel().backup(&database).unwrap();
    place
}

// D11 D12 K6: whatever has happened comes back from the archive, and from the other engine
#[test]
fn a_long_log_of_every_kind_comes_back_and_moves_to_the_same_state() {
    let events = std::env::var("COMITY_MOVING_EVENTS").map_or(500, |text| text.parse().unwrap());
    let started = std::time::Instant::now();
    let place = with_everything(events);
    let (hash, seq) = state(&place);
    place.ask("archive sync --operator --timeout 30m").unwrap();
    let archive = place.data().join("archive.git");
    let other = Place::new();
    let restore = ["restore", "--from-archive", archive.to_str().unwrap()];
    other
        .json(&[&restore[..], &["--operator"]].concat())
        .unwrap();
    assert_eq!(
        state(&other),
        (hash.clone(), seq.clone()),
        "from the archive"
    );
    let restored = started.elapsed();
    let url = comity_testkit::kit::fresh_schema_url();
    other
        .json(&["migrate", "--to", &url, "--operator"])
        .unwrap();
    let settings = other.data().join("comity.toml");
    std::fs::write(&settings, format!("[server]\ndatabase = {}\n", json!(url))).unwrap();
    assert_eq!(state(&other), (hash.clone(), seq.clone()), "on PostgreSQL");
    for file in ["comity.db", "comity.db-wal", "comity.db-shm"] {
        let _ = std::fs::remove_file(other.data().join(file));
    }
    other.ask("migrate --to sqlite --operator").unwrap();
    std::fs::remove_file(&settings).unwrap();
    assert_eq!(state(&other), (hash, seq.clone()), "and back");
    comity_testkit::kit::drop_schema(&url);
    eprintln!(
        "moving: {seq} events, restored after {} s, there and back after {} s: the same state",
        restored.as_secs(),
        started.elapsed().as_secs()
    );
}
