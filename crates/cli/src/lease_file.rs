//! The leases an agent believes to hold: `agents/<project slug>/<name>.leases`, beside its token.
//!
//! Whoever is granted a lease writes its number and fence here. The guard sends them with its
//! question, so that a lease which was lost between an edit and a commit is found out.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use comity_domain::TokenSecret;
use comity_kernel::Error;
use serde::{Deserialize, Serialize};

use crate::globals::Globals;
use crate::who::{self, Who};
use crate::{output, token_file};

/// The largest file; an agent cannot have leases for more.
const BYTES_MAX: u64 = 4 << 20;
const MODE: u32 = 0o600;

/// A lease as its holder remembers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptLease {
    /// Its number.
    pub(crate) id: i64,
    /// The fence it was granted with.
    pub(crate) fence: i64,
    /// The pattern it is on.
    pub(crate) path_pattern: String,
}

/// The file of one agent.
#[derive(Clone, Debug)]
pub(crate) struct LeaseFile {
    path: PathBuf,
}

#[derive(Default, Serialize, Deserialize)]
struct Content {
    leases: Vec<KeptLease>,
}

impl LeaseFile {
    /// Returns the file beside a token file.
    pub(crate) fn beside(token_file: &Path) -> Self {
        Self {
            path: token_file.with_extension("leases"),
        }
    }

    /// Finds the file of whoever acts. The operator has none, nor has a token from the environment
    /// that is in no file here.
    pub(crate) fn of(
        who: &Who,
        globals: &Globals,
        directory: &Path,
    ) -> Result<Option<Self>, Error> {
        let Who::Token(token) = who else {
            return Ok(None);
        };
        if let Some(name) = who::named(globals)? {
            let file = who::file_of(&name, globals.project.as_ref(), directory)?;
            return Ok(Some(Self::beside(&file.path)));
        }
        Ok(Self::of_token(token, directory))
    }

    /// Finds the file beside the one that holds a token.
    pub(crate) fn of_token(token: &TokenSecret, directory: &Path) -> Option<Self> {
        let file = token_file::of_token(directory, token)?;
        Some(Self::beside(&file.path))
    }

    /// Reads the leases; without a file there are none.
    pub(crate) fn read(&self) -> Result<Vec<KeptLease>, Error> {
        let unusable = |why: String| {
            let shown = self.path.display();
            Error::Unusable {
                what: format!("`{shown}` does not say which leases are held: {why}"),
            }
        };
        let mut text = Vec::new();
        let read =
            File::open(&self.path).and_then(|file| file.take(BYTES_MAX + 1).read_to_end(&mut text));
        match read {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(unusable(error.to_string())),
        }
        if text.len() as u64 > BYTES_MAX {
            return Err(unusable(format!("it is larger than {BYTES_MAX} bytes")));
        }
        let content: Content =
            serde_json::from_slice(&text).map_err(|error| unusable(error.to_string()))?;
        Ok(content.leases)
    }

    /// Keeps what was granted, in the place of earlier leases on the same patterns.
    pub(crate) fn keep(&self, granted: &[KeptLease]) -> Result<(), Error> {
        self.change(|leases| {
            let is_new = |lease: &KeptLease| {
                let mut new = granted.iter();
                new.any(|new| new.path_pattern == lease.path_pattern || new.id == lease.id)
            };
            leases.retain(|lease| !is_new(lease));
            leases.extend_from_slice(granted);
        })
    }

    /// Forgets leases that were given up.
    pub(crate) fn forget(&self, ids: &[i64]) -> Result<(), Error> {
        self.change(|leases| leases.retain(|lease| !ids.contains(&lease.id)))
    }

    /// Changes the file while nobody else does. One that is damaged is told of, and written anew.
    fn change(&self, change: impl FnOnce(&mut Vec<KeptLease>)) -> Result<(), Error> {
        let write = || -> std::io::Result<()> {
            let folder = self.path.parent().unwrap_or(Path::new("."));
            // The directory is the lock: the file itself is another one after each change.
            let lock = File::open(folder)?;
            lock.lock()?;
            let mut leases = self.read().unwrap_or_else(|error| {
                output::warn(&format!("{error}; it is written anew"));
                Vec::new()
            });
            change(&mut leases);
            let content = serde_json::to_vec(&Content { leases })?;
            comity_archive::replace(&self.path, &content, MODE)
        };
        write().map_err(|error| Error::Unusable {
            what: format!("`{}` cannot be written: {error}", self.path.display()),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn lease(id: i64, pattern: &str) -> KeptLease {
        KeptLease {
            id,
            fence: 1_000 + id,
            path_pattern: pattern.to_owned(),
        }
    }

    fn file() -> (tempfile::TempDir, LeaseFile) {
        let directory = tempfile::tempdir().unwrap();
        let file = LeaseFile::beside(&directory.path().join("v1.2.token"));
        (directory, file)
    }

    // 3.11
    #[test]
    fn leases_are_kept_by_pattern_and_forgotten_by_number() {
        let (directory, file) = file();
        assert_eq!(file.read().unwrap(), []);
        file.keep(&[lease(1, "a"), lease(2, "b/**")]).unwrap();
        file.keep(&[lease(3, "a")]).unwrap();
        assert_eq!(file.read().unwrap(), [lease(2, "b/**"), lease(3, "a")]);
        file.forget(&[2, 99]).unwrap();
        let path = directory.path().join("v1.2.leases");
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(
            text,
            r#"{"leases":[{"id":3,"fence":1003,"path_pattern":"a"}]}"#
        );
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600); // S21
    }

    // 3.11
    #[test]
    fn a_damaged_file_is_an_error_to_readers_and_written_anew() {
        let (directory, file) = file();
        let path = directory.path().join("v1.2.leases");
        for damaged in ["", "{", "[]", r#"{"leases":[{"id":"x"}]}"#] {
            std::fs::write(&path, damaged).unwrap();
            let error = file.read().unwrap_err().to_string();
            assert!(error.contains("which leases are held"), "{error}");
            file.keep(&[lease(1, "a")]).unwrap();
            assert_eq!(file.read().unwrap(), [lease(1, "a")]);
        }
    }

    // 3.11
    #[test]
    fn writers_do_not_lose_each_others_leases() {
        let (_directory, file) = file();
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let file = &file;
                scope.spawn(move || {
                    for n in 0..10 {
                        let id = writer * 100 + n;
                        file.keep(&[lease(id, &id.to_string())]).unwrap();
                    }
                });
            }
        });
        assert_eq!(file.read().unwrap().len(), 80);
    }
}
