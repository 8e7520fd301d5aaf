//! Where a worker keeps what belongs to the commands it runs: `dispatch/` of the data directory.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;

const PRIVATE: u32 = 0o600;
/// How long what a command wrote is kept.
const LOGS_KEPT: Duration = Duration::from_hours(7 * 24);
/// The ending of what commands wrote.
const LOG: &str = "log";
/// The ending of records of running commands.
pub(super) const RECORD: &str = "running";

/// The directory, which only its owner may enter.
#[derive(Clone, Debug)]
pub(super) struct Folder(PathBuf);

/// The files of one claim.
#[derive(Clone, Debug)]
pub(super) struct Files {
    /// What the command wrote; it stays for some days.
    pub(super) log: PathBuf,
    /// What is to be done.
    pub(super) prompt: PathBuf,
    /// Where the command says what came of it.
    pub(super) result: PathBuf,
    /// The record of the running command.
    pub(super) record: PathBuf,
}

impl Folder {
    /// Opens the directory of a data directory, making it if it is not there.
    pub(super) fn of(data: &Path) -> io::Result<Self> {
        let path = data.join("dispatch");
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&path)?;
        Ok(Self(path))
    }

    /// Returns the directory itself.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Removes what commands wrote long ago, but for those that run; returns how many it were.
    pub(super) fn forget_old_logs(&self) -> io::Result<usize> {
        let mut forgotten = 0;
        for entry in std::fs::read_dir(&self.0)? {
            let path = entry?.path();
            let is_log = path.extension().is_some_and(|ending| ending == LOG);
            if is_log && !path.with_extension(RECORD).exists() && is_old(&path) {
                // Another worker that starts now may be faster.
                forgotten += usize::from(std::fs::remove_file(&path).is_ok());
            }
        }
        Ok(forgotten)
    }

    /// Names the files of one claim; no other claim has the same.
    pub(super) fn files(&self, dispatch: i64, fence: i64) -> Files {
        let file = |ending: &str| self.0.join(format!("{dispatch}-{fence}.{ending}"));
        Files {
            log: file(LOG),
            prompt: file("prompt"),
            result: file("result"),
            record: file(RECORD),
        }
    }
}

impl Files {
    /// Writes what is to be done, and makes room for what comes of it.
    pub(super) fn prepare(&self, prompt: &str) -> io::Result<()> {
        self.clear();
        create(&self.prompt)?.write_all(prompt.as_bytes())
    }

    /// Removes what nobody needs when the command has ended, whatever it was made into.
    pub(super) fn clear(&self) {
        for path in [&self.prompt, &self.result] {
            if std::fs::remove_file(path).is_err() {
                // A directory in the place of a file is the command's doing.
                let _ = std::fs::remove_dir_all(path);
            }
        }
    }
}

/// Tells whether a file was last written to longer ago than it is kept; a link is no file.
fn is_old(path: &Path) -> bool {
    let written = std::fs::symlink_metadata(path)
        .ok()
        .filter(std::fs::Metadata::is_file)
        .and_then(|file| file.modified().ok());
    written
        .and_then(|written| written.elapsed().ok())
        .is_some_and(|age| age > LOGS_KEPT)
}

/// Makes a file that only its owner may read; a link in its place is not followed.
pub(super) fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(PRIVATE)
        .custom_flags(flags(OFlags::NOFOLLOW))
        .open(path)
}

/// Opens what somebody else may have made: no link is followed, and a pipe does not block.
pub(super) fn open_carefully(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(flags(OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY))
        .open(path)
}

fn flags(flags: OFlags) -> i32 {
    i32::try_from(flags.bits()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    // Q9: what commands wrote does not fill the disk for ever
    #[test]
    fn only_old_logs_of_what_has_ended_are_forgotten() {
        let directory = tempfile::tempdir().unwrap();
        let folder = Folder::of(directory.path()).unwrap();
        let [ended, running, fresh] = [1, 2, 3].map(|id| folder.files(id, 10));
        for file in [&ended.log, &running.log, &running.record, &ended.prompt] {
            let file = create(file).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        }
        create(&fresh.log).unwrap();
        assert_eq!(folder.forget_old_logs().unwrap(), 1);
        assert!(!ended.log.exists());
        for kept in [running.log, running.record, fresh.log, ended.prompt] {
            assert!(kept.exists(), "{}", kept.display());
        }
        assert_eq!(folder.forget_old_logs().unwrap(), 0);
    }
}
