use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use super::super::Listener;
use super::*;

/// Less than the listener's own poll, so that only a notification can have told.
const BEFORE_POLL: Duration = Duration::from_millis(900);
const LONG: Duration = Duration::from_secs(10);

fn listener(target: &PostgresTarget) -> (Listener, Receiver<Seq>) {
    let (heard, ears) = channel();
    // The receiver may be gone when the test ends.
    let hear = Box::new(move |seq| {
        let _: Result<(), _> = heard.send(seq);
    });
    (Listener::start(target, hear).expect("start"), ears)
}

fn wait_for(ears: &Receiver<Seq>, seq: i64, limit: Duration) {
    let started = Instant::now();
    while ears.recv_timeout(limit).expect("heard in time") < Seq::new(seq) {}
    assert!(started.elapsed() < limit, "{:?}", started.elapsed());
}

#[test]
fn commit_wakes_a_listener() {
    let workspace = Workspace::new("notify");
    let mut writer = workspace.writer();
    let (listener, ears) = listener(&workspace.target);
    wait_for(&ears, 0, LONG);
    for seq in 1..4 {
        committed_one(&mut writer, seq);
        wait_for(&ears, seq, BEFORE_POLL);
    }
    listener.stop();
}

#[test]
fn commit_that_was_never_told_is_heard_by_looking() {
    let workspace = Workspace::new("untold");
    let (listener, ears) = listener(&workspace.target);
    wait_for(&ears, 0, LONG);
    workspace.behind(
        "insert into event (seq, at, v, kind, actor, subject_type, subject_id, payload_sha256, \
         hash) select 1, 0, 1, 'kind', 'actor', 'type', 1, hash, hash from log_head; \
         update log_head set seq = 1",
    );
    wait_for(&ears, 1, LONG);
    listener.stop();
}

// Fault 16
#[test]
fn listener_comes_back_after_its_session_was_killed() {
    let workspace = Workspace::new("listener_killed");
    let target = PostgresTarget::parse(&url("listener_killed", "&application_name=comity_ears"));
    let (listener, ears) = listener(&target.expect("valid"));
    wait_for(&ears, 0, LONG);
    let mut writer = workspace.writer();
    workspace.behind(
        "select pg_terminate_backend(pid, 5000) from pg_stat_activity \
         where application_name = 'comity_ears'",
    );
    committed_one(&mut writer, 1);
    wait_for(&ears, 1, LONG);
    committed_one(&mut writer, 2);
    wait_for(&ears, 2, BEFORE_POLL);
    listener.stop();
}

#[test]
fn listener_stops_at_once_with_and_without_a_server() {
    let workspace = Workspace::new("stop");
    let nowhere = PostgresTarget::parse("postgres://u@127.0.0.1:1/d").expect("valid");
    for target in [&workspace.target, &nowhere] {
        let (listener, _hears) = listener(target);
        let started = Instant::now();
        listener.stop();
        assert!(started.elapsed() < Duration::from_secs(1));
    }
}
