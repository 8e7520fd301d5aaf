//! The data directory: its rights, its files, and who may use it at the same time.
//!
//! `serve` takes `serve.lock` and then `comity.lock` for itself; embedded commands share
//! `comity.lock`. So one server or many embedded commands use the database, never both (A7).

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::command::Issued;
use crate::error::Error;

/// How long a server waits for embedded commands to end.
const WAIT_FOR_EMBEDDED: Duration = Duration::from_secs(10);
/// How long a server looks for `serve.lock`: longer than an embedded command's glance at it.
const WAIT_FOR_GLANCE: Duration = Duration::from_millis(200);

/// File systems where SQLite's locks and shared memory do not hold across machines.
const NETWORK_FILE_SYSTEMS: [(u32, &str); 9] = [
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB2"),
    (0x5346_414f, "AFS"),
    (0x00c3_6400, "Ceph"),
    (0x0102_1997, "9P"),
    (0x0bd0_0bd0, "Lustre"),
    (0x0116_1970, "GFS2"),
];

/// A data directory that exists, is private, and lies on a local disk.
#[derive(Clone, Debug)]
pub struct DataDir {
    path: PathBuf,
}

/// The right to use a data directory; it ends when this is dropped or the process ends.
#[derive(Debug)]
pub struct Hold {
    _serve: Option<File>,
    _comity: File,
}

impl DataDir {
    /// Opens a data directory, making it if it is not there.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let unusable = |what: String| Error::Unusable { what };
        let shown = path.display();
        if !path.exists() {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(path)
                .map_err(|error| unusable(format!("`{shown}` cannot be made: {error}")))?;
        }
        check_private(path, 0o700)?;
        let kind = rustix::fs::statfs(path)
            .map_err(|error| unusable(format!("`{shown}` cannot be examined: {error}")))?
            .f_type;
        if let Some(name) = network_file_system(kind) {
            return Err(unusable(format!(
                "`{shown}` lies on {name}; SQLite needs a local disk (use PostgreSQL to share)"
            )));
        }
        let directory = Self {
            path: path.to_owned(),
        };
        for file in [directory.database(), directory.path.join("operator.token")] {
            if file.exists() {
                check_private(&file, 0o600)?;
            }
        }
        Ok(directory)
    }

    /// Returns the directory itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns where the database lies.
    pub fn database(&self) -> PathBuf {
        self.path.join("comity.db")
    }

    /// Returns where the archive lies.
    pub fn archive(&self) -> PathBuf {
        self.path.join("archive.git")
    }

    /// Returns the lock of whoever writes the archive.
    pub fn archive_lock(&self) -> PathBuf {
        self.path.join("archive.lock")
    }

    /// Returns where exports are kept.
    pub fn exports(&self) -> PathBuf {
        self.path.join("exports")
    }

    /// Returns where copies are kept, making the directory if it is not there.
    pub fn backups(&self) -> Result<PathBuf, Error> {
        let backups = self.path.join("backups");
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&backups)
            .map_err(|error| Error::Unusable {
                what: format!("`{}` cannot be made: {error}", backups.display()),
            })?;
        Ok(backups)
    }

    /// Writes a file that only its owner may read, replacing what was there.
    pub fn write_private(&self, name: &Path, content: &str) -> Result<PathBuf, Error> {
        let target = self.path.join(name);
        let write = || -> std::io::Result<()> {
            if let Some(parent) = target.parent() {
                DirBuilder::new()
                    .recursive(true)
                    .mode(0o700)
                    .create(parent)?;
            }
            let fresh = target.with_extension(format!("{}.new", std::process::id()));
            let mut file = private_file(&fresh, Existing::Truncate)?;
            file.write_all(content.as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&fresh, &target)?;
            target
                .parent()
                .map_or(Ok(()), |parent| File::open(parent)?.sync_all())
        };
        write().map_err(|error| Error::Unusable {
            what: format!("`{}` cannot be written: {error}", target.display()),
        })?;
        Ok(target)
    }

    /// Puts a new token into its owner's file, so that it never shows in a transcript (S18).
    pub fn keep_token(&self, issued: &Issued) -> Result<PathBuf, Error> {
        let name = match &issued.agent {
            Some((project, agent)) => format!("agents/{project}/{agent}.token"),
            None => format!("tokens/{}.token", issued.secret.id()),
        };
        let kept = self.write_private(name.as_ref(), &format!("{}\n", issued.secret.reveal()));
        kept.map_err(|error| Error::Unusable {
            what: format!(
                "it is done, but its token was not kept: {error}; `rotate_token` or `create_token` makes another"
            ),
        })
    }

    /// Takes the directory for a server, or says who has it.
    pub fn hold_for_server(&self) -> Result<Hold, Error> {
        let mut serve = self.lock_file("serve.lock")?;
        lock_within(&serve, WAIT_FOR_GLANCE, || self.holder("serve.lock"))?;
        let note = format!("a server, process {}\n", std::process::id());
        serve
            .set_len(0)
            .and_then(|()| serve.write_all(note.as_bytes()))
            .map_err(|error| Error::Unusable {
                what: format!("`serve.lock` cannot be written: {error}"),
            })?;
        let comity = self.lock_file("comity.lock")?;
        lock_within(&comity, WAIT_FOR_EMBEDDED, || {
            "commands that use the database without a server".to_owned()
        })?;
        Ok(Hold {
            _serve: Some(serve),
            _comity: comity,
        })
    }

    /// Shares the directory with other embedded commands, or says which server has it.
    pub fn hold_shared(&self) -> Result<Hold, Error> {
        let locked = || Error::Locked {
            holder: self.holder("serve.lock"),
        };
        // Taken for a glance only: whoever serves, or waits to, holds it all the time.
        let serve = self.lock_file("serve.lock")?;
        serve.try_lock_shared().map_err(|_| locked())?;
        let comity = self.lock_file("comity.lock")?;
        comity.try_lock_shared().map_err(|_| locked())?;
        drop(serve);
        Ok(Hold {
            _serve: None,
            _comity: comity,
        })
    }

    fn holder(&self, lock: &str) -> String {
        let mut note = String::new();
        let read =
            File::open(self.path.join(lock)).and_then(|mut file| file.read_to_string(&mut note));
        match read {
            Ok(_) if !note.trim().is_empty() => note.trim().to_owned(),
            _ => "another process".to_owned(),
        }
    }

    fn lock_file(&self, name: &str) -> Result<File, Error> {
        let path = self.path.join(name);
        private_file(&path, Existing::Keep).map_err(|error| Error::Unusable {
            what: format!("`{}` cannot be opened: {error}", path.display()),
        })
    }
}

/// Names the network file system of this kind, if it is one.
fn network_file_system(kind: i64) -> Option<&'static str> {
    let known = NETWORK_FILE_SYSTEMS.iter();
    let mut same = known.filter(|(magic, _)| i64::from(*magic) == kind & 0xffff_ffff);
    same.next().map(|(_, name)| *name)
}

/// Makes the database file private before SQLite opens it; its other files inherit that.
pub(crate) fn make_private_database(path: &Path) -> Result<(), Error> {
    let made = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    match made {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(Error::Unusable {
            what: format!("`{}` cannot be made: {error}", path.display()),
        }),
    }
}

/// What becomes of the content of a file that exists.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Existing {
    Keep,
    Truncate,
}

fn private_file(path: &Path, existing: Existing) -> std::io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(existing == Existing::Truncate)
        .mode(0o600)
        .open(path)
}

fn check_private(path: &Path, wanted: u32) -> Result<(), Error> {
    let unusable = |what: String| Error::Unusable { what };
    let mode = std::fs::metadata(path)
        .map_err(|error| unusable(format!("`{}` cannot be examined: {error}", path.display())))?
        .permissions()
        .mode();
    if mode & 0o077 != 0 {
        return Err(unusable(format!(
            "`{}` may be used by others (mode {:o}); run `chmod {wanted:o}` on it",
            path.display(),
            mode & 0o777
        )));
    }
    Ok(())
}

fn lock_within(file: &File, patience: Duration, holder: impl Fn() -> String) -> Result<(), Error> {
    let started = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if started.elapsed() < patience => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(TryLockError::WouldBlock) => return Err(Error::Locked { holder: holder() }),
            Err(TryLockError::Error(error)) => {
                return Err(Error::Unusable {
                    what: format!("the data directory cannot be locked: {error}"),
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch() -> (tempfile::TempDir, DataDir) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data");
        let data = DataDir::open(&path).unwrap();
        (directory, data)
    }

    // A7
    #[test]
    fn a_server_keeps_everybody_else_out_and_is_named() {
        let (_directory, data) = scratch();
        let hold = data.hold_for_server().unwrap();
        let named = format!("process {}", std::process::id());
        for refused in [data.hold_for_server(), data.hold_shared()] {
            match refused {
                Err(Error::Locked { holder }) => assert!(holder.contains(&named), "{holder}"),
                other => panic!("{other:?}"),
            }
        }
        drop(hold);
        data.hold_for_server().unwrap();
    }

    // A7
    #[test]
    fn embedded_commands_share_and_a_server_waits_for_them() {
        let (_directory, data) = scratch();
        let first = data.hold_shared().unwrap();
        let second = data.hold_shared().unwrap();
        let server = std::thread::spawn({
            let data = data.clone();
            move || data.hold_for_server().map(drop)
        });
        // Once the server waits, newcomers are sent to it.
        while data.hold_shared().is_ok() {
            std::thread::yield_now();
        }
        assert!(!server.is_finished());
        drop((first, second));
        server.join().unwrap().unwrap();
    }

    // A7: locks do not hold across machines
    #[test]
    fn network_file_systems_are_known_by_their_numbers() {
        assert_eq!(network_file_system(0x6969), Some("NFS"));
        // The kernel hands some of them out sign-extended.
        assert_eq!(network_file_system(-0x00ac_b2be), Some("CIFS"));
        for local in [0xef53, 0x0102_1994, 0x5846_5342, 0x9123_683e] {
            assert_eq!(network_file_system(local), None); // ext4, tmpfs, XFS, btrfs
        }
    }

    // S21
    #[test]
    fn a_directory_open_to_others_is_refused() {
        let (_directory, data) = scratch();
        let open = std::fs::Permissions::from_mode(0o750);
        std::fs::set_permissions(data.path(), open).unwrap();
        let refused = DataDir::open(data.path()).unwrap_err();
        assert!(refused.to_string().contains("chmod 700"), "{refused}");
    }

    // S21
    #[test]
    fn what_is_made_is_private() {
        let (_directory, data) = scratch();
        let path = data
            .write_private(Path::new("agents/web/Blue.token"), "x")
            .unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(data.path()), 0o700);
        assert_eq!(mode(path.parent().unwrap()), 0o700);
    }
}
