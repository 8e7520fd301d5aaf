//! Clients that take nothing harm themselves alone (fault 15).

use std::io::Write as _;
use std::time::{Duration, Instant};

use comity_kernel::mail::SendMessage;
use comity_testkit::kit::request;
use comity_testkit::served::Call;
use comity_testkit::{Engine, Kit};
use serde_json::json;

use super::stream::Stream;
use super::wire::{Heard, Wire};
use crate::crowd::child;
use crate::town::Town;

// I7 fault 15
#[test]
fn a_slow_socket_is_closed_with_a_place_to_go_on_from() {
    let town = Town::around(Kit::new(Engine::Sqlite), |_, patience| {
        patience.feed = Duration::from_millis(300);
    });
    let open = || Wire::open(&town, &town.blue.token, "/ws/agents/Blue");
    let (mut slow, mut good) = (open(), open());
    let start = town.end();
    let body = "x".repeat(250_000);
    let mut sent = Vec::new();
    for _ in 0..40 {
        let seq = town.note(&town.red.token, "Blue", &body);
        // The other one is not held up.
        let begun = Instant::now();
        assert_eq!(good.event()["seq"], seq);
        assert!(begun.elapsed() < Duration::from_secs(1));
        sent.push(seq);
    }
    std::thread::sleep(Duration::from_millis(600));
    let mut heard = Vec::new();
    let reason = loop {
        match slow.hear() {
            Heard::Said(event) => heard.push(event["seq"].as_i64().unwrap()),
            Heard::Closed(code, reason) => {
                assert_eq!(code, 1_013);
                break reason;
            }
            Heard::Gone => panic!("gone after {heard:?}"),
        }
    };
    let last = heard.last().copied().unwrap_or(start);
    assert_eq!(reason, format!("resume after {last}"));
    assert!(heard.len() < sent.len(), "it was slow");
    let mut again = open();
    again.subscribe(last);
    while heard.len() < sent.len() {
        heard.push(again.event()["seq"].as_i64().unwrap());
    }
    assert_eq!(heard, sent);
}

// I7 fault 15: more small events than are kept, with a full socket
#[test]
fn a_socket_that_falls_far_behind_is_closed_before_its_time() {
    let town = Town::around(Kit::new(Engine::Sqlite), |_, patience| {
        patience.feed = Duration::from_mins(1);
    });
    let mut slow = Wire::open(&town, &town.blue.token, "/ws/agents/Blue");
    let body = "x".repeat(3_500);
    let begun = Instant::now();
    let red = town.actor(&town.red.token);
    let note = json!({ "to": ["Blue"], "subject": "s", "body": body });
    let send = || {
        let send: SendMessage = request(&note);
        town.served.kit.kernel().execute(red.clone().into(), send)
    };
    for _ in 0..6 {
        let tickets: Vec<_> = (0..500).map(|_| send()).collect();
        for ticket in tickets {
            ticket.wait().unwrap();
        }
    }
    std::thread::sleep(Duration::from_millis(300));
    let closed = loop {
        match slow.hear() {
            Heard::Said(_) => {}
            closed => break closed,
        }
    };
    assert!(matches!(closed, Heard::Closed(1_013, _)), "{closed:?}");
    assert!(begun.elapsed() < Duration::from_secs(30));
}

// Fault 15
#[test]
fn a_hundred_stuck_streams_harm_nobody() {
    let child = child(&json!({}));
    let post = |path: &str, body: &serde_json::Value| child.call(&Call::post(path, body));
    assert_eq!(
        post("/api/projects", &json!({ "key": "/srv/web" })).status,
        201
    );
    let blue = json!({ "project": "web", "name": "Blue", "program": "t", "model": "m" });
    assert_eq!(post("/api/agents", &blue).status, 201);
    let follow = child.bytes(&Call::get("/api/events/stream?since=0"));
    let stuck: Vec<_> = (0..100)
        .map(|_| {
            let mut stream = child.connect();
            stream.write_all(&follow).unwrap();
            stream
        })
        .collect();
    let mut good = child.connect();
    good.write_all(&child.bytes(&Call::get("/api/events/stream")))
        .unwrap();
    let mut good = Stream::on(good).unwrap();
    let before = child.resident_bytes();
    let mut longest = Duration::ZERO;
    for n in 0..100 {
        let body = "x".repeat(if n % 2 == 0 { 200_000 } else { 2_000 });
        let note = json!({ "project": "web", "to": ["Blue"], "subject": "s", "body": body });
        let begun = Instant::now();
        let answer = post("/api/messages", &note);
        assert_eq!(answer.status, 201, "{}", answer.text());
        assert_eq!(good.next().unwrap().seq, answer.json()["seq"]);
        longest = longest.max(begun.elapsed());
    }
    assert!(longest < Duration::from_secs(1), "{longest:?}");
    let grown = child.resident_bytes().saturating_sub(before);
    assert!(grown < 150 * 1_024 * 1_024, "{grown}");
    drop(stuck);
}

// Fault 14
#[test]
fn a_thousand_idle_feeds_cost_little() {
    comity_testkit::served::allow_descriptors(2_500);
    let child = child(&json!({}));
    let post = |path: &str, body: &serde_json::Value| child.call(&Call::post(path, body));
    assert_eq!(
        post("/api/projects", &json!({ "key": "/srv/web" })).status,
        201
    );
    let blue = json!({ "project": "web", "name": "Blue", "program": "t", "model": "m" });
    assert_eq!(post("/api/agents", &blue).status, 201);
    let open = |bytes: &[u8]| {
        let mut stream = child.connect();
        stream.write_all(bytes).unwrap();
        stream
    };
    let follow = child.bytes(&Call::get("/api/events/stream"));
    let listen = child.bytes(&Wire::request("/ws/agents/1"));
    let mut streams: Vec<_> = (0..500)
        .map(|_| Stream::on(open(&follow)).unwrap())
        .collect();
    let mut wires: Vec<_> = (0..500).map(|_| Wire::on(open(&listen)).unwrap()).collect();
    let resident = child.resident_bytes();
    assert!(resident < 150 * 1_024 * 1_024, "{resident}");
    let red = json!({ "project": "web", "name": "Red", "program": "t", "model": "m" });
    assert_eq!(post("/api/agents", &red).status, 201);
    for stream in &mut streams {
        assert_eq!(stream.next().unwrap().kind, "agent_registered");
    }
    for wire in &mut wires {
        assert_eq!(wire.event()["kind"], "agent_registered");
    }
}
