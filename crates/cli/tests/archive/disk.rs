//! The archive's disk gets full under a running server (fault 2).
//!
//! The disk is a small tmpfs of the test's own. The tests mount and so run as root; where that is
//! refused they fail and say so, for a skipped test would look like a passed one.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::crowd::{Crowd, PATIENCE};
use crate::place::{Place, run};

/// A tmpfs that goes away with its test.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn new(options: &str) -> Self {
        let mount = tempfile::tempdir().unwrap();
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", options, "comity-test"]);
        run(command.arg(mount.path()));
        Self(mount)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Takes every byte there is.
    fn take_all_bytes(&self) -> PathBuf {
        let disk = rustix::fs::statvfs(self.path()).unwrap();
        let bytes = usize::try_from(disk.f_bavail * disk.f_frsize).unwrap();
        let taken = self.path().join("taken");
        std::fs::create_dir(&taken).unwrap();
        std::fs::write(taken.join("bytes"), vec![1; bytes]).unwrap();
        taken
    }

    /// Takes every file there could be.
    fn take_all_files(&self) -> PathBuf {
        let taken = self.path().join("taken");
        std::fs::create_dir(&taken).unwrap();
        for number in 0.. {
            let Err(error) = std::fs::write(taken.join(number.to_string()), "") else {
                continue;
            };
            assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
            break;
        }
        taken
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // A failed test may still have files open there; the mount goes when they do.
        let _ = Command::new("umount")
            .arg("--lazy")
            .arg(self.path())
            .status();
    }
}

/// What `/health` says of the archive, and of everything.
fn health(crowd: &Crowd) -> (Value, Value) {
    let said = crowd.get("/health");
    let checks = said["checks"].as_array().unwrap();
    let archive = checks.iter().find(|check| check["name"] == "archive");
    (archive.unwrap().clone(), said["status"].clone())
}

/// Waits until the archive is in this state.
fn wait_for(crowd: &Crowd, state: &str) -> Value {
    let started = Instant::now();
    loop {
        let (archive, _) = health(crowd);
        if archive["state"] == state && (state != "following" || archive["lag"] == 0) {
            return archive;
        }
        assert!(started.elapsed() < PATIENCE, "{archive}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Lets the disk get full and free again while messages are sent.
fn full_and_free_again(options: &str, take: fn(&SmallDisk) -> PathBuf) {
    let place = Place::new("4");
    let disk = SmallDisk::new(options);
    let (server, addr) = place.serve("127.0.0.1:0");
    let crowd = Crowd::join(&place, &addr);
    let mut sent = vec![crowd.send("before")];
    place.ask(&["archive", "sync"]);
    drop(server);
    place.move_archive(disk.path());
    let (server, _) = place.serve(&addr);
    sent.push(crowd.send("moved"));
    wait_for(&crowd, "following");
    let taken = take(&disk);
    sent.extend((0..20).map(|nth| crowd.send(&format!("full-{nth}"))));
    let full = wait_for(&crowd, "degraded");
    sent.push(crowd.send("later"));
    let (later, status) = health(&crowd);
    assert_eq!(status, json!("degraded"));
    assert!(full["degraded_since"].is_string(), "{full}");
    assert_eq!(
        later["degraded_since"], full["degraded_since"],
        "since when"
    );
    assert!(
        later["lag"].as_i64() > full["lag"].as_i64(),
        "{full} {later}"
    );
    assert!(
        later["age_ms"].as_i64() > full["age_ms"].as_i64(),
        "{later}"
    );
    let said = later["detail"].as_str().unwrap();
    assert!(said.contains("disk is full"), "{said}");
    std::fs::remove_dir_all(taken).unwrap();
    let free = wait_for(&crowd, "following");
    assert_eq!(free["degraded_since"], Value::Null, "{free}");
    assert_eq!(health(&crowd).1, json!("ok"));
    place.must_be_right(sent);
    drop(server);
}

// D1 D2, fault 2
#[test]
fn an_archive_without_a_byte_left_catches_up_once_there_is_room() {
    full_and_free_again("size=96m,mode=700", SmallDisk::take_all_bytes);
}

// D1 D2 D4, fault 2: there is room enough, but no file can be made
#[test]
fn an_archive_without_a_file_left_catches_up_once_there_is_room() {
    full_and_free_again("size=96m,nr_inodes=4k,mode=700", SmallDisk::take_all_files);
}
