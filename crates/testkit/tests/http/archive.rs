//! A server's archive: it follows what is sent, and nothing waits for it.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use comity_kernel::datadir::DataDir;
use comity_server::archiving::Archiving;
use comity_testkit::served::{Call, PATIENCE};
use comity_testkit::{Engine, Kit, both_engines};
use serde_json::{Value, json};

use crate::town::Town;

/// The usual archive in the directory of a kit.
pub(crate) fn archive_of(kit: &Kit) -> Archiving {
    let data = DataDir::open(kit.directory()).unwrap();
    Archiving::of(&data)
}

fn town_with_archive(engine: Engine) -> Town {
    let kit = Kit::new(engine);
    let archive = archive_of(&kit);
    Town::around(kit, |settings, _| settings.archive = Some(archive))
}

/// Asks until the answer is what is waited for.
fn wait_until(town: &Town, path: &str, is_there: impl Fn(&Value) -> bool) -> Value {
    let started = Instant::now();
    loop {
        let answer = town.served.get(path, &town.operator);
        assert_eq!(answer.status, 200, "{}", answer.text());
        let answer = answer.json();
        if is_there(&answer) {
            return answer;
        }
        assert!(started.elapsed() < PATIENCE, "{answer}");
    }
}

/// The part of `/health` about the archive.
fn part(health: &Value) -> &Value {
    let mut checks = health["checks"].as_array().unwrap().iter();
    checks.find(|check| check["name"] == "archive").unwrap()
}

/// Has Blue write to Red, and returns the place of that in the log.
fn send(town: &Town, subject: &str) -> i64 {
    let letter = json!({ "to": ["Red"], "subject": subject, "body": "The plan of many words." });
    let sent = town
        .served
        .call(&Call::post("/api/messages", &letter).token(&town.blue.token));
    assert_eq!(sent.status, 201, "{}", sent.text());
    sent.json()["seq"].as_i64().unwrap()
}

fn git(repository: &Path, arguments: &[&str]) -> String {
    let author = ["-c", "user.name=x", "-c", "user.email=x@example.org"];
    let done = Command::new("git")
        .arg("-C")
        .arg(repository)
        .args(author)
        .args(arguments)
        .output()
        .unwrap();
    assert!(done.status.success(), "{arguments:?}: {done:?}");
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

both_engines! {
    // D1: never on a request's path, and there soon
    fn what_is_sent_is_in_git_soon_after(engine) {
        let town = town_with_archive(engine);
        let seq = send(&town, "Ready to merge");
        let status = wait_until(&town, "/api/archive", |status| {
            status["through"].as_i64().unwrap() >= seq
        });
        assert_eq!((&status["state"], &status["lag"]), (&json!("following"), &json!(0)));
        let repository = town.served.kit.directory().join("archive.git");
        assert_eq!(status["repository"], json!(repository));
        let names = git(&repository, &["ls-tree", "-r", "--name-only", "main"]);
        let file = names.lines().find(|name| name.ends_with("-ready-to-merge.md")).unwrap();
        assert!(file.starts_with("projects/web/messages/"), "{file}");
        let text = git(&repository, &["show", &format!("main:{file}")]);
        assert!(text.contains("The plan of many words."), "{text}");
        let message = git(&repository, &["log", "-1", "--format=%B", "main"]);
        assert!(message.contains(&format!("Comity-Through: {seq}")), "{message}");
        // K5
        let health = wait_until(&town, "/health", |health| part(health)["lag"] == 0);
        let found = part(&health);
        assert_eq!((&health["status"], &found["status"]), (&json!("ok"), &json!("ok")), "{health}");
        assert_eq!((&found["state"], &found["through"]), (&json!("following"), &json!(seq)));
        let metrics = town.served.get("/metrics", &town.operator).text();
        for line in [format!("comity_archive_through_seq {seq}"), "comity_archive_lag_events 0".to_owned()] {
            assert!(metrics.lines().any(|found| found == line), "{metrics}");
        }
    }
}

// Fault 6, K5: what somebody else made is left alone, requests go on, and its end is noticed
#[test]
fn a_foreign_repository_is_degraded_and_never_overwritten() {
    let kit = Kit::new(Engine::Sqlite);
    let archive = archive_of(&kit);
    let repository = archive.place.repository.clone();
    std::fs::create_dir(&repository).unwrap();
    git(&repository, &["init", "-q", "--bare", "-b", "main"]);
    let tree = git(&repository, &["mktree"]);
    let commit = git(&repository, &["commit-tree", "-m", "mine", &tree]);
    git(&repository, &["update-ref", "refs/heads/main", &commit]);
    let objects = git(&repository, &["count-objects", "-v"]);
    let town = Town::around(kit, |settings, _| settings.archive = Some(archive));
    let seq = send(&town, "Before");
    let health = wait_until(&town, "/health", |health| {
        part(health)["state"] == "stopped"
    });
    assert_eq!(health["status"], "degraded");
    let found = part(&health);
    let why = found["detail"].as_str().unwrap();
    assert!(why.contains("was not made by Comity"), "{why}");
    assert!(found["degraded_since"].is_string(), "{found}");
    assert!(found["lag"].as_i64().unwrap() >= seq, "{found}");
    assert!(found["age_ms"].is_i64(), "{found}");
    send(&town, "Meanwhile");
    assert_eq!(git(&repository, &["rev-parse", "main"]), commit);
    assert_eq!(git(&repository, &["count-objects", "-v"]), objects);
    // Out of the way, the archive is made and catches up by itself.
    let moved = repository.with_extension("theirs");
    std::fs::rename(&repository, &moved).unwrap();
    let is_whole = |health: &Value| part(health)["lag"] == 0 && part(health)["status"] == "ok";
    let whole = wait_until(&town, "/health", is_whole);
    assert_eq!(part(&whole)["state"], "following");
    assert_eq!(git(&moved, &["rev-parse", "main"]), commit);
}

// Fault 6, K5: it is noticed while nothing happens, and so is its end
#[test]
fn a_repository_that_vanishes_is_noticed_without_an_event() {
    let town = town_with_archive(Engine::Sqlite);
    send(&town, "Before");
    let is_whole = |health: &Value| part(health)["lag"] == 0 && part(health)["status"] == "ok";
    wait_until(&town, "/health", is_whole);
    let repository = town.served.kit.directory().join("archive.git");
    let theirs = repository.with_extension("theirs");
    std::fs::create_dir(&theirs).unwrap();
    std::fs::write(theirs.join("precious"), "x").unwrap();
    std::fs::rename(&repository, repository.with_extension("ours")).unwrap();
    std::fs::rename(&theirs, &repository).unwrap();
    wait_until(&town, "/health", |health| {
        part(health)["state"] == "stopped"
    });
    std::fs::remove_dir_all(&repository).unwrap();
    wait_until(&town, "/health", is_whole);
    std::fs::remove_dir_all(&repository).unwrap();
    let health = town.served.get("/health", &town.operator).json();
    assert!(
        !is_whole(&health) || repository.exists(),
        "told at once, unless it is there again: {health}"
    );
    wait_until(&town, "/health", is_whole);
    assert!(!git(&repository, &["rev-parse", "main"]).is_empty());
}

// Nothing of it runs, and it says so
#[test]
fn without_an_archive_it_is_off() {
    let town = Town::small();
    let status = town.served.get("/api/archive", &town.operator).json();
    assert_eq!(status["state"], "off");
    let verify = town
        .served
        .post("/api/archive/verify", &town.operator, &json!({}));
    assert_eq!(verify.refusal(), (503, "unusable".to_owned()));
    let health = town.served.get("/health", &town.operator).json();
    assert_eq!(part(&health)["status"], "ok");
    let metrics = town.served.get("/metrics", &town.operator).text();
    assert!(!metrics.contains("comity_archive"), "{metrics}");
}
