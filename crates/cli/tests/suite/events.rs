//! Events, streams and consumers with the real binary, the same through every door.

use std::io::{BufRead as _, BufReader};
use std::process::Child;

use serde_json::{Value, json};

use crate::post::{Post, through_every_door};

/// What a command prints for people.
fn shown(post: &Post, line: &str) -> String {
    let words: Vec<_> = line.split_whitespace().collect();
    let output = post.pipe(&words, b"");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

/// Lines of events without their numbers and times.
fn story(text: &str) -> Vec<String> {
    let told = |line: &str| line.splitn(3, "  ").nth(2).unwrap_or_default().to_owned();
    text.lines().map(told).collect()
}

/// The kinds of the events of a tail with `--json`.
fn kinds(text: &str) -> Vec<String> {
    let event = |line: &str| serde_json::from_str::<Value>(line).unwrap();
    let kind = |line: &str| event(line)["kind"].as_str().unwrap().to_owned();
    text.lines().map(kind).collect()
}

// I2 I4
#[test]
fn what_happened_is_listed_and_added_to() {
    through_every_door(|post| {
        let first = r#"events append deploys custom.begun {"to":"eu"} --expect none --as Blue"#;
        assert_eq!(post.ask(first).unwrap()["version"], 1);
        let (exit, conflict) = post.ask(first).unwrap_err();
        assert_eq!((exit, &conflict["present"]), (1, &json!(1)));
        let said = shown(
            post,
            "events append deploys custom.done --expect 1 --as Red",
        );
        assert!(
            said.starts_with("deploys is at version 2, event "),
            "{said}"
        );
        let read = shown(post, "events stream deploys --as Gold");
        assert!(
            read.contains("custom.begun") && read.contains(r#"{"to":"eu"}"#),
            "{read}"
        );
        let told = [
            "Blue  deploys 1: custom.begun",
            "Red  deploys 2: custom.done",
        ];
        assert_eq!(
            story(&shown(post, "events tail --kind custom.* --as Gold")),
            told
        );
        assert_eq!(
            story(&shown(post, "events tail --last 1 --as Gold")),
            &told[1..]
        );
        let since = post
            .ask("events list --kind custom.begun --as Gold")
            .unwrap();
        let since = since["items"][0]["seq"].as_i64().unwrap();
        let tail = format!("events tail --since {since} --json --as Gold");
        assert_eq!(kinds(&shown(post, &tail)), ["custom.done"]);
        let list = shown(post, "events list --actor Blue --as Gold");
        assert!(
            list.lines().count() == 2 && list.contains("deploys 1: custom.begun"),
            "{list}"
        );
        let (exit, wrong) = post
            .ask("events list --kind custom_done --operator")
            .unwrap_err();
        assert_eq!((exit, &wrong["field"]), (3, &json!("kinds")));
    });
}

// I7
#[test]
fn a_consumer_polls_and_acknowledges() {
    through_every_door(|post| {
        post.ask("events append s custom.one --as Blue").unwrap();
        let added = post
            .ask("events consumer add mirror --since 0 --kind custom.* --operator")
            .unwrap();
        assert_eq!(added["consumer"]["generation"], 1);
        post.ask("events append s custom.two --as Blue").unwrap();
        let polled = post
            .ask("events consumer poll mirror --generation 1 --operator")
            .unwrap();
        assert_eq!(polled["items"].as_array().unwrap().len(), 2);
        let text = shown(
            post,
            "events consumer poll mirror --generation 1 --limit 1 --operator",
        );
        assert!(
            text.contains("s 1: custom.one\nacknowledge up to "),
            "{text}"
        );
        let ack = format!(
            "events consumer ack mirror {} --generation 1 --operator",
            polled["through"]
        );
        assert_eq!(post.ask(&ack).unwrap()["consumer"]["lag"], 0);
        let list = shown(post, "events consumer list --operator");
        assert!(
            list.starts_with("name") && list.contains("mirror"),
            "{list}"
        );
        post.ask("events consumer reset mirror 0 --operator")
            .unwrap();
        let (exit, old) = post.ask(&ack).unwrap_err();
        assert_eq!(
            (exit, &old["error"], &old["present"]),
            (1, &json!("wrong_generation"), &json!(2))
        );
        let (exit, _) = post
            .ask("events consumer add mirror --as Blue")
            .unwrap_err();
        assert_eq!(exit, 1, "an agent needs the right to orchestrate");
    });
}

/// Reads the next line of a tail.
fn next(child: &mut BufReader<impl std::io::Read>) -> Value {
    let mut line = String::new();
    child.read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap()
}

fn follow(post: &Post, line: &str) -> (Child, BufReader<std::process::ChildStdout>) {
    let words: Vec<_> = line.split_whitespace().collect();
    let mut child = post.start(&words);
    let lines = BufReader::new(child.stdout.take().unwrap());
    (child, lines)
}

// BEHAVIOUR: it ends with the run
#[test]
fn a_tail_follows_until_the_run_has_ended() {
    through_every_door(|post| {
        post.ask("run create ship --operator").unwrap();
        let tail = "events tail --since 0 --run 1 --until-ended --json --as Blue";
        let (mut child, mut lines) = follow(post, tail);
        assert_eq!(next(&mut lines)["kind"], "run_created");
        post.ask("run pause 1 --operator").unwrap();
        assert_eq!(next(&mut lines)["kind"], "run_paused");
        assert_eq!(child.try_wait().unwrap(), None);
        post.ask("run cancel 1 --operator").unwrap();
        assert_eq!(next(&mut lines)["kind"], "run_cancelled");
        assert!(child.wait().unwrap().success());
        let again = shown(post, tail);
        assert_eq!(
            kinds(&again),
            ["run_created", "run_paused", "run_cancelled"]
        );
    });
}

// A7 I7: nothing is missed and nothing told twice, however servers come and go
#[test]
fn servers_come_and_go_beside_a_tail() {
    let post = Post::embedded();
    let tail = "events tail -f --since 0 --kind custom.* --json --as Red";
    let (mut child, mut lines) = follow(&post, tail);
    let mut said = 0;
    let mut say = |post: &Post, lines: &mut BufReader<_>| {
        for _ in 0..3 {
            said += 1;
            post.ask("events append s custom.said --as Blue").unwrap();
            assert_eq!(next(lines)["payload"]["version"], said);
        }
    };
    say(&post, &mut lines);
    let server = post.place.serve();
    say(&post, &mut lines);
    // Killed, not told.
    drop(server);
    say(&post, &mut lines);
    let server = post.place.serve();
    say(&post, &mut lines);
    server.signal(rustix::process::Signal::TERM);
    assert_eq!(server.wait(), Some(0));
    say(&post, &mut lines);
    assert_eq!(child.try_wait().unwrap(), None);
    child.kill().unwrap();
    child.wait().unwrap();
}

// I8
#[test]
fn what_somebody_said_is_taken_out() {
    through_every_door(|post| {
        let said = r#"events append leaks custom.said {"key":"hush4711"} --as Blue"#;
        let seq = post.ask(said).unwrap()["seq"].as_i64().unwrap();
        let redact = format!("events redact {seq} --reason leak --operator");
        let told = shown(post, &redact);
        assert!(
            told.starts_with(&format!("event {seq} (custom.said) is redacted")),
            "{told}"
        );
        let read = shown(post, "events stream leaks --as Gold");
        assert!(!read.contains("hush4711"), "{read}");
        assert_eq!(post.ask(&redact).unwrap()["redaction"]["seq"], seq);
        let beyond = post.ask("events redact 999999 --reason leak --operator");
        let (exit, refused) = beyond.unwrap_err();
        assert_eq!((exit, &refused["error"]), (1, &json!("not_found")));
    });
}
