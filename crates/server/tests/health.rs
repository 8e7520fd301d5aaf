//! `/health` is a live probe (K5): each fault turns it, its end turns it back.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;

use comity_kernel::failpoint::Failpoints;
use comity_kernel::{Kernel, Options};
use comity_server::health::{Health, Status, probe};
use comity_server::{Server, Settings};

fn server(change: impl FnOnce(&mut Options)) -> (tempfile::TempDir, Server, Failpoints) {
    let directory = tempfile::tempdir().unwrap();
    let mut options = Options::sqlite(directory.path().join("comity.db"));
    let failpoints = Failpoints::default();
    options.ambient.failpoints = failpoints.clone();
    change(&mut options);
    let kernel = Arc::new(Kernel::open(options).unwrap());
    let server = Server::new(kernel, Settings::default());
    (directory, server, failpoints)
}

fn check(health: &Health, name: &str) -> Status {
    health
        .checks
        .iter()
        .find(|check| check.name == name)
        .unwrap()
        .status
}

// K5
#[tokio::test]
async fn a_stuck_writer_is_failing_until_it_moves() {
    let (_directory, server, failpoints) = server(|_| {});
    assert_eq!(probe(&server).await.status, Status::Ok);
    let gate = failpoints.pause("writer.before_commit");
    let stuck = probe(&server).await;
    assert_eq!(
        (stuck.status, check(&stuck, "write")),
        (Status::Failing, Status::Failing)
    );
    assert_eq!(check(&stuck, "read"), Status::Ok); // A3
    gate.open();
    failpoints.clear("writer.before_commit");
    assert_eq!(probe(&server).await.status, Status::Ok);
}

// K5, fault 1: below the reserve nothing is written, and reading goes on
#[tokio::test]
async fn a_full_disk_is_failing() {
    let (_directory, server, _) = server(|options| options.reserve_bytes(u64::MAX));
    let full = probe(&server).await;
    assert_eq!(
        (check(&full, "write"), check(&full, "read")),
        (Status::Failing, Status::Ok)
    );
}
