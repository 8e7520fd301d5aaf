//! Connections that end without a word, as at a cut cable or a failed-over proxy.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::thread;

use super::commit::{at_commit, commit_project_by};
use super::*;

/// Stands between a client and the server, and can be cut.
struct Relay {
    target: PostgresTarget,
    pairs: Arc<Mutex<Vec<(TcpStream, UnixStream)>>>,
}

impl Relay {
    fn to(workspace: &Workspace) -> Self {
        let place = workspace.place();
        let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
        let port = listener.local_addr().expect("bound").port();
        let url = place.url(&format!("127.0.0.1:{port}"), "");
        let pairs = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&pairs);
        // Ends with the test's process: it only waits.
        thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.expect("accepted");
                let server = UnixStream::connect(place.socket()).expect("connect");
                let clone = (
                    client.try_clone().expect("clone"),
                    server.try_clone().expect("clone"),
                );
                kept.lock().expect("sound").push(clone);
                let back = (
                    server.try_clone().expect("clone"),
                    client.try_clone().expect("clone"),
                );
                thread::spawn(move || copy(client, server));
                thread::spawn(move || copy(back.0, back.1));
            }
        });
        let target = PostgresTarget::parse(&url).expect("valid");
        Self { target, pairs }
    }

    /// Ends all connections; those made afterwards work.
    fn cut(&self) {
        for (client, server) in self.pairs.lock().expect("sound").drain(..) {
            // One of the two may have ended by itself.
            let _: Result<(), _> = client.shutdown(Shutdown::Both);
            let _: Result<(), _> = server.shutdown(Shutdown::Both);
        }
    }
}

fn copy(mut from: impl Read, mut to: impl Write) {
    // Ends when either is cut.
    let _: Result<u64, _> = std::io::copy(&mut from, &mut to);
}

#[test]
fn connection_cut_before_commit_is_rolled_back() {
    let workspace = Workspace::new("cut_before");
    let relay = Relay::to(&workspace);
    let mut writer = PostgresWriter::open(&relay.target).expect("open");
    writer.begin().expect("begin");
    command(&mut writer, 1, "a").expect("command");
    append(&mut writer, 1).expect("append");
    relay.cut();
    let committed = writer.commit(Seq::new(1));
    assert!(
        matches!(committed, Err(CommitError::RolledBack(StoreError::Lost(_)))),
        "{committed:?}"
    );
    committed_one(&mut writer, 1);
    assert!(workspace.committed::<i64>(PROJECTS).is_empty());
}

// L9
#[test]
fn connection_cut_at_commit_leaves_the_outcome_unknown() {
    let workspace = Workspace::new("cut_at");
    at_commit(&workspace, "perform pg_sleep(1)");
    let relay = Relay::to(&workspace);
    let writer = PostgresWriter::open(&relay.target).expect("open");
    let committing = thread::spawn(move || commit_project_by(writer).1);
    let mut other = workspace.reader();
    let sleeps = "select count(*) from pg_stat_activity \
                  where wait_event = 'PgSleep' and query = 'commit'";
    let mut asleep = 0;
    while asleep == 0 {
        other.begin().expect("begin");
        asleep = all::<i64>(&mut other, sleeps)[0];
        other.end();
    }
    relay.cut();
    let committed = committing.join().expect("joined");
    assert!(
        matches!(
            committed,
            Err(CommitError::Indeterminate(StoreError::Lost(_)))
        ),
        "{committed:?}"
    );
    // This time it stands: the lock is free when the server has finished.
    assert_eq!(workspace.writer().begin().expect("begin").seq, Seq::new(1));
}
