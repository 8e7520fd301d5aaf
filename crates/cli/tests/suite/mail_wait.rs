//! Waiting for mail.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::place::answer;
use crate::post::{NOTHING, Post, ids, through_every_door};

// BEHAVIOUR: a wait returns as soon as something new matches
#[test]
fn a_wait_wakes_up_when_somebody_sends() {
    through_every_door(|post| {
        let started = Instant::now();
        let words = "wait --for 50s --from Blue --as Red --json";
        let words: Vec<_> = words.split(' ').collect();
        let mut waiting = post.start(&words);
        post.send("Red --subject no --body x --as Gold");
        assert_eq!(waiting.try_wait().unwrap(), None);
        post.send("Red --subject yes --body x --as Blue");
        let came = answer(&waiting.wait_with_output().unwrap()).unwrap();
        assert_eq!(ids(&came), [2]);
        assert!(started.elapsed() < Duration::from_secs(40));
        let (exit, nothing) = post.ask("wait --for 10ms --as Blue").unwrap_err();
        assert_eq!((exit, &nothing["error"]), (1, &json!("not_found")));
        assert_eq!(
            ids(&post.ask("mail inbox --wait 10ms --as Blue").unwrap()),
            NOTHING
        );
    });
}

// A7: whoever waits lets servers start and end, however they end
#[test]
fn servers_come_and_go_beside_a_wait() {
    let post = Post::embedded();
    let mut waiting = post.start(&["wait", "--for", "50s", "--as", "Red", "--json"]);
    // Often enough that whoever waits has found the way that there is now.
    let none_yet = |waiting: &mut std::process::Child| {
        for _ in 0..10 {
            assert_eq!(ids(&post.ask("mail inbox --as Red").unwrap()), NOTHING);
            assert_eq!(waiting.try_wait().unwrap(), None);
        }
    };
    none_yet(&mut waiting);
    let server = post.place.serve();
    none_yet(&mut waiting);
    // Killed, not told.
    drop(server);
    none_yet(&mut waiting);
    let server = post.place.serve();
    none_yet(&mut waiting);
    server.signal(rustix::process::Signal::TERM);
    assert_eq!(server.wait(), Some(0));
    none_yet(&mut waiting);
    post.send("Red --subject hello --body x --as Blue");
    let came = answer(&waiting.wait_with_output().unwrap()).unwrap();
    assert_eq!(ids(&came), [1]);
}
