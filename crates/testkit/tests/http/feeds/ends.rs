//! How feeds end: with their credential, with the server, and where there are too many.

use std::time::{Duration, Instant};

use comity_testkit::both_engines;
use comity_testkit::served::Call;
use serde_json::json;

use super::stream::Stream;
use super::wire::{Heard, Wire};
use crate::town::Town;

both_engines! {
    // E5 S17
    fn feeds_end_with_their_credential(engine) {
        let town = Town::new(engine);
        let mut observed = Stream::open(&town, &town.observer, "");
        let mut wire = Wire::open(&town, &town.blue.token, "/ws/agents/Blue");
        let mut stream = Stream::open(&town, &town.blue.token, "");
        let mut other = Stream::open(&town, &town.red.token, "");
        let begun = Instant::now();
        town.revoke(&town.observer);
        assert_eq!(observed.next(), None);
        town.does(&town.operator, "retire_agent", &json!({ "agent": "Blue", "project": "web" })).unwrap();
        while let Some(came) = stream.next() {
            assert_eq!(came.kind, "agent_retired");
        }
        let closed = loop {
            match wire.hear() {
                Heard::Said(event) => assert_eq!(event["kind"], "agent_retired"),
                closed => break closed,
            }
        };
        assert!(matches!(closed, Heard::Closed(4_401, _)), "{closed:?}");
        assert!(begun.elapsed() < Duration::from_secs(2));
        assert_eq!(other.next().unwrap().kind, "agent_retired");
        let seq = town.note(&town.chief.token, "Red", "b");
        assert_eq!(other.next().unwrap().seq, seq);
    }
}

// B8
#[test]
fn a_stop_ends_every_feed_in_time_and_says_where_to_go_on() {
    let mut town = Town::small();
    let mut streams: Vec<_> = (0..20)
        .map(|_| Stream::open(&town, &town.blue.token, ""))
        .collect();
    let open = || Wire::open(&town, &town.blue.token, "/ws/agents/Blue");
    let mut wires: Vec<_> = (0..20).map(|_| open()).collect();
    // One that takes nothing more.
    let mut deaf = Wire::open(&town, &town.chief.token, "/ws/agents/Chief");
    let seq = town.note(&town.red.token, "Blue", "b");
    for wire in &mut wires {
        assert_eq!(wire.event()["seq"], seq);
    }
    deaf.subscribe(0);
    for _ in 0..40 {
        town.note(&town.red.token, "Chief", &"x".repeat(200_000));
    }
    let begun = Instant::now();
    town.served.stop();
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(5), "{took:?}");
    for stream in &mut streams {
        while stream.next().is_some() {}
    }
    for wire in &mut wires {
        let mut last = seq;
        let reason = loop {
            match wire.hear() {
                Heard::Said(event) => last = event["seq"].as_i64().unwrap(),
                Heard::Closed(1_001, reason) => break reason,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(reason, format!("resume after {last}"));
    }
}

// S24
#[test]
fn an_agent_has_a_hundred_feeds_at_most() {
    let town = Town::small();
    let call = Call::get("/api/events/stream").token(&town.guest);
    let mut open: Vec<_> = (0..99)
        .map(|_| Stream::call(&town, &call).unwrap())
        .collect();
    open.push(Stream::call(&town, &call).unwrap());
    let streams = |count: usize| {
        let text = town.served.get("/metrics", &town.operator).text();
        text.lines()
            .any(|line| line == format!("comity_streams {count}"))
    };
    assert!(streams(100));
    let refused = Stream::call(&town, &call).map(|_| ()).unwrap_err();
    assert_eq!(refused.refusal(), (429, "rate_limited".to_owned()));
    refused.must_be_an_error();
    // Others have their own, and the operator more.
    let _observed = Stream::open(&town, &town.observer, "");
    let _operated: Vec<_> = (0..101)
        .map(|_| Stream::open(&town, &town.operator, ""))
        .collect();
    drop(open);
    // A place becomes free when the server notices that its client has gone.
    let deadline = Instant::now() + Duration::from_secs(5);
    while Stream::call(&town, &call).is_err() {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(10));
    }
}
