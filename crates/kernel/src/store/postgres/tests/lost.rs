use std::sync::mpsc::{TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::*;

/// Ends the writer's session from another one and waits until it is gone.
fn kill(workspace: &Workspace, backend: i64) {
    workspace.behind(&format!("select pg_terminate_backend({backend}, 5000)"));
}

fn backend(writer: &mut PostgresWriter) -> i64 {
    all(writer, BACKEND)[0]
}

// L9, fault 16
#[test]
fn session_killed_before_commit_is_rolled_back_and_the_next_begin_connects_again() {
    let workspace = Workspace::new("killed");
    let mut writer = workspace.writer();
    writer.begin().expect("begin");
    command(&mut writer, 1, "a").expect("command");
    let pid = backend(&mut writer);
    append(&mut writer, 1).expect("append");
    kill(&workspace, pid);
    let committed = writer.commit(Seq::new(1));
    assert!(
        matches!(committed, Err(CommitError::RolledBack(StoreError::Lost(_)))),
        "{committed:?}"
    );
    assert!(!writer.in_transaction());
    committed_one(&mut writer, 1);
    assert!(workspace.committed::<i64>(PROJECTS).is_empty());
}

#[test]
fn session_killed_in_a_command_is_lost_with_its_reason() {
    let workspace = Workspace::new("killed_in");
    let mut writer = workspace.writer();
    writer.begin().expect("begin");
    writer.savepoint().expect("savepoint");
    let pid = backend(&mut writer);
    kill(&workspace, pid);
    // Reads the server's last words; on a Unix socket, writing first would fail without them.
    writer.connection().drive();
    add_project(&mut writer, 1, "a").expect_err("there is no session");
    assert!(!writer.in_transaction());
    let Err(StoreError::Lost(cause)) = writer.undo() else {
        panic!("undo must say that the connection is lost");
    };
    assert!(format!("{cause:?}").contains("57P01"), "{cause:?}");
    writer.rollback();
    committed_one(&mut writer, 1);
}

#[test]
fn session_killed_while_idle_is_not_noticed_by_anybody() {
    let workspace = Workspace::new("killed_idle");
    let mut writer = workspace.writer();
    let mut reader = workspace.reader();
    writer.begin().expect("begin");
    let pid = backend(&mut writer);
    writer.rollback();
    kill(&workspace, pid);
    committed_one(&mut writer, 1);
    reader.begin().expect("begin");
    let pid = all::<i64>(&mut reader, BACKEND)[0];
    reader.end();
    kill(&workspace, pid);
    assert_eq!(reader.begin().expect("begin").seq, Seq::new(1));
    reader.end();
}

#[test]
fn server_that_cannot_be_reached_is_lost() {
    let target = PostgresTarget::parse("postgres://u@127.0.0.1:1/d").expect("valid");
    assert!(matches!(
        PostgresWriter::open(&target),
        Err(StoreError::Lost(_))
    ));
}

// L2
#[test]
fn second_writer_waits_for_the_first_and_begins_at_its_head() {
    let workspace = Workspace::new("serial");
    let mut first = workspace.writer();
    let mut second = workspace.writer();
    first.begin().expect("begin");
    let (waiting, waits) = channel();
    let (began, begins) = channel();
    let other = thread::spawn(move || {
        waiting.send(()).expect("waited for");
        let head = second.begin().expect("begin");
        began.send(head.seq).expect("waited for");
        second.rollback();
    });
    waits.recv().expect("started");
    // The second waits for the first's lock, and the server says so.
    let blocked = "select count(*) from pg_stat_activity where cardinality(pg_blocking_pids(pid)) \
                   > 0 and pg_backend_pid() = any(pg_blocking_pids(pid))";
    while all::<i64>(&mut first, blocked) == [0] {
        thread::yield_now();
    }
    append(&mut first, 1).expect("append");
    first.settle().expect("settle");
    assert_eq!(begins.try_recv(), Err(TryRecvError::Empty));
    first.commit(Seq::new(1)).expect("commit");
    assert_eq!(begins.recv().expect("began"), Seq::new(1));
    other.join().expect("joined");
}

#[test]
fn waiting_too_long_for_the_lock_is_busy() {
    let workspace = Workspace::new("busy");
    let mut first = workspace.writer();
    let mut second = workspace.writer();
    first.begin().expect("begin");
    for limit in ["lock_timeout", "statement_timeout"] {
        let session = second.connection();
        let client = session.client().expect("connected");
        let set = format!("reset lock_timeout; reset statement_timeout; set {limit} = 100");
        session
            .wait(client.batch_execute(&set))
            .expect("answered")
            .expect("set");
        assert!(
            matches!(second.begin(), Err(StoreError::Busy(_))),
            "{limit}"
        );
    }
    first.rollback();
    second.begin().expect("the session is still good");
    second.rollback();
}

// L10. Slow: the server's limit is 5 s.
#[test]
fn writer_that_stands_still_frees_the_others() {
    let workspace = Workspace::new("still");
    let mut first = workspace.writer();
    let mut second = workspace.writer();
    first.begin().expect("begin");
    command(&mut first, 1, "a").expect("command");
    append(&mut first, 1).expect("append");
    first.settle().expect("settle");
    let started = Instant::now();
    let head = second.begin().expect("begin");
    assert!(
        started.elapsed() < Duration::from_secs(6),
        "{:?}",
        started.elapsed()
    );
    assert_eq!(head.seq, Seq::ZERO);
    let committed = first.commit(Seq::new(1));
    assert!(
        matches!(committed, Err(CommitError::RolledBack(StoreError::Lost(_)))),
        "{committed:?}"
    );
    second.rollback();
}
