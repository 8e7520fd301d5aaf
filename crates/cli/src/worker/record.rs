//! Records of running commands: after a crash of their worker the next one finds what it left.
//!
//! A worker holds the lock of its records as long as it lives. A record whose lock is free has lost
//! its worker: everything that was started with its nonce, and the keeper with all below it, is ended.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::clock::Moment;
use super::folder::{Folder, RECORD, create, open_carefully};
use super::tree::{self, Process};

/// The largest record.
const BYTES_MAX: u64 = 16 << 10;
/// How long what is left may take to end.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(10);

/// What is written of a running command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Running {
    /// The dispatch's number.
    pub(super) dispatch: i64,
    /// The claim's fence.
    pub(super) fence: i64,
    /// What everything is known by that came of the command.
    pub(super) nonce: String,
    /// Its keeper, as soon as there is one.
    pub(super) keeper: Option<Process>,
    /// The start of the machine that its keeper is of: numbers and ticks begin anew with each.
    #[serde(default)]
    pub(super) boot: String,
}

/// The record of a running command, locked until it is dropped.
pub(super) struct Record {
    path: PathBuf,
    _lock: File,
}

impl Record {
    /// Writes a record, or the next state of it, so that nobody ever sees one without its lock.
    pub(super) fn write(path: &Path, running: &Running) -> io::Result<Self> {
        let fresh = path.with_extension("new");
        let mut file = create(&fresh)?;
        file.lock()?;
        file.write_all(&serde_json::to_vec(running)?)?;
        std::fs::rename(&fresh, path)?;
        Ok(Self {
            path: path.to_owned(),
            _lock: file,
        })
    }

    /// Removes it: nothing of the command is left.
    pub(super) fn remove(self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Work whose worker is dead, of which nothing runs any more. Its record stays unless it is removed.
pub(super) struct Left {
    /// What was written of it.
    pub(super) running: Running,
    record: Record,
}

impl Left {
    /// Removes the record: there is nothing more to do about it.
    pub(super) fn remove(self) {
        self.record.remove();
    }
}

/// Ends what dead workers left, and returns whose work it was.
pub(super) fn sweep(folder: &Folder) -> io::Result<Vec<Left>> {
    let mut swept = Vec::new();
    for entry in std::fs::read_dir(folder.path())? {
        let path = entry?.path();
        if path.extension().is_none_or(|ending| ending != RECORD) {
            continue;
        }
        let Some(lock) = abandoned(&path) else {
            continue;
        };
        let running = read(&path);
        let record = Record { path, _lock: lock };
        match running {
            Some(running) => {
                end(&running);
                folder.files(running.dispatch, running.fence).clear();
                swept.push(Left { running, record });
            }
            None => record.remove(),
        }
    }
    Ok(swept)
}

/// Takes the lock of a record that has lost its worker; nothing if it has one, or is gone.
fn abandoned(path: &Path) -> Option<File> {
    let file = open_carefully(path).ok()?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => return None,
    }
    // Somebody may have replaced or removed it between the two.
    let (locked, present) = (file.metadata().ok()?, std::fs::metadata(path).ok()?);
    (locked.ino() == present.ino()).then_some(file)
}

fn read(path: &Path) -> Option<Running> {
    let mut text = Vec::new();
    let file = open_carefully(path).ok()?;
    file.take(BYTES_MAX).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Ends everything that came of a command.
fn end(running: &Running) {
    let keeper = running.keeper.filter(|_| running.boot == tree::boot());
    let left = || {
        let mut left = tree::with_nonce(&running.nonce);
        if let Some(keeper) = keeper.filter(|keeper| keeper.is_alive()) {
            left.extend(tree::below(keeper.pid));
            left.push(keeper);
        }
        left
    };
    let over = Moment::now().after(PATIENCE);
    let mut is_sure = false;
    while !over.is_past() {
        if !left().is_empty() {
            is_sure = false;
            tree::kill(left);
        } else if is_sure {
            return;
        } else {
            // One that is becoming another program has no environment for a moment.
            is_sure = true;
        }
        std::thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;

    fn running(nonce: &str, keeper: Option<Process>) -> Running {
        Running {
            dispatch: 7,
            fence: 70,
            nonce: nonce.to_owned(),
            keeper,
            boot: tree::boot(),
        }
    }

    fn child(script: &str, nonce: &str) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::null());
        command.env(tree::NONCE, nonce).spawn().unwrap()
    }

    /// Sweeps, and keeps no record.
    fn swept(folder: &Folder) -> Vec<Running> {
        let left = sweep(folder).unwrap().into_iter();
        left.map(|left| {
            let running = left.running.clone();
            left.remove();
            running
        })
        .collect()
    }

    #[test]
    fn only_what_lost_its_worker_is_ended() {
        let directory = tempfile::tempdir().unwrap();
        let folder = Folder::of(directory.path()).unwrap();
        let path = folder.files(7, 70).record;
        let mut orphan = child("sleep 600 & wait", "record-test-orphan");
        let kept = running("record-test-orphan", None);
        let record = Record::write(&path, &kept).unwrap();
        assert_eq!(swept(&folder), []);
        assert!(orphan.try_wait().unwrap().is_none());
        // Its next state is locked as well, and there is no moment without a lock.
        let record = (Record::write(&path, &kept).unwrap(), drop(record)).0;
        assert_eq!(swept(&folder), []);
        drop(record);
        assert_eq!(swept(&folder), [kept]);
        assert!(!orphan.wait().unwrap().success());
        assert!(!path.exists());
        assert!(tree::with_nonce("record-test-orphan").is_empty());
    }

    #[test]
    fn a_number_that_is_anothers_by_now_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let folder = Folder::of(directory.path()).unwrap();
        let mut stranger = child("exec sleep 600", "somebody-else");
        let seen = Process::of(stranger.id()).unwrap();
        let earlier = Process {
            start: seen.start - 1,
            ..seen
        };
        let record = running("record-test-nobody", Some(earlier));
        drop(Record::write(&folder.files(7, 70).record, &record).unwrap());
        assert_eq!(swept(&folder), [record]);
        assert!(stranger.try_wait().unwrap().is_none());
        stranger.kill().unwrap();
        stranger.wait().unwrap();
    }

    #[test]
    fn a_number_of_before_the_machine_was_started_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let folder = Folder::of(directory.path()).unwrap();
        let mut stranger = child("exec sleep 600", "somebody-else");
        let same = Process::of(stranger.id()).unwrap();
        for boot in ["", "another"] {
            let record = Running {
                boot: boot.to_owned(),
                ..running("record-test-boot", Some(same))
            };
            drop(Record::write(&folder.files(7, 70).record, &record).unwrap());
            assert_eq!(swept(&folder), [record]);
            assert!(stranger.try_wait().unwrap().is_none());
        }
        stranger.kill().unwrap();
        stranger.wait().unwrap();
    }

    #[test]
    fn a_damaged_record_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let folder = Folder::of(directory.path()).unwrap();
        let path = folder.files(7, 70).record;
        std::fs::write(&path, "{").unwrap();
        assert_eq!(swept(&folder), []);
        assert!(!path.exists());
    }
}
