//! Crowds of connections, against a server in a process of its own, whose descriptors can be
//! counted. What a connection costs does not depend on the engine.

use std::io::{Read as _, Write as _};
use std::time::{Duration, Instant};

use comity_testkit::served::{Call, Child, read_answer};
use comity_testkit::{Engine, Kit};
use serde_json::json;

use crate::town::Town;

pub(crate) fn child(settings: &serde_json::Value) -> Child {
    Child::start(env!("CARGO_BIN_EXE_served"), settings)
}

// B6 S1 fault 14: those who say nothing cost a descriptor each, for a while
#[test]
fn a_thousand_silent_connections_hold_up_nobody() {
    // Ours, and the child's after us.
    comity_testkit::served::allow_descriptors(2_500);
    let child = child(&json!({ "head_ms": 4_000 }));
    let before = child.descriptors();
    // Its doors are open when it has answered once.
    let first = child.call_and_close(&Call::get("/api/projects"));
    assert_eq!(first.status, 200);
    let begun = Instant::now();
    let mut crowd: Vec<_> = (0..1_000).map(|_| child.connect()).collect();
    // Nobody had to knock twice: a system does that after a second.
    let took = begun.elapsed();
    assert!(took < Duration::from_millis(900), "{took:?}");
    for n in 0..20 {
        let begun = Instant::now();
        let key = json!({ "key": format!("/srv/{n}") });
        assert_eq!(child.call(&Call::post("/api/projects", &key)).status, 201);
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(2), "{took:?}");
    }
    // Connections are accepted in their order: behind an answered one, all before it are in.
    let open = child.descriptors();
    assert!(open >= before + 1_000, "{before} became {open}");
    let resident = child.resident_bytes();
    assert!(resident < 300 * 1_024 * 1_024, "{resident}");
    for stream in &mut crowd {
        assert_eq!(
            stream.read(&mut [0; 1]).unwrap(),
            0,
            "it is closed, not answered"
        );
    }
    assert_eq!(
        child.call_and_close(&Call::get("/api/projects")).status,
        200
    );
    // A connection is closed for its client a moment before its descriptor is.
    let deadline = Instant::now() + Duration::from_secs(10);
    while child.descriptors() > before {
        assert!(
            Instant::now() < deadline,
            "{before} became {}",
            child.descriptors()
        );
        std::thread::yield_now();
    }
}

// B6
#[test]
fn a_connection_too_many_is_told_so_at_once() {
    let town = Town::around(Kit::new(Engine::Sqlite), |settings, _| {
        settings.connections_max = 2;
    });
    let call = Call::get("/api/projects").token(&town.operator);
    let bytes = call.bytes(&town.served.addr().to_string());
    let mut inside = [town.served.connect(), town.served.connect()];
    for stream in &mut inside {
        stream.write_all(&bytes).unwrap();
        assert_eq!(read_answer(stream, "GET").unwrap().status, 200);
    }
    // It has said nothing yet.
    let answer = read_answer(&mut town.served.connect(), "GET").unwrap();
    assert_eq!(answer.refusal(), (503, "busy".to_owned()));
    answer.must_be_an_error();
    assert_eq!(answer.header("connection"), Some("close"));
    let answer = read_answer(&mut town.served.connect_unix(), "GET").unwrap();
    assert_eq!(answer.status, 503);
    // Those inside go on, and a place that becomes free is given away.
    for stream in &mut inside {
        stream.write_all(&bytes).unwrap();
        assert_eq!(read_answer(stream, "GET").unwrap().status, 200);
    }
    let [leaving, _staying] = inside;
    drop(leaving);
    let admitted = (0..1_000).any(|_| {
        let answer = town.served.raw(&bytes);
        answer.is_some_and(|answer| answer.status == 200)
    });
    assert!(admitted);
}
