//! The project's settings as the last answer told them: `comity-guard.json` in the repository.

use std::path::{Path, PathBuf};

use comity_domain::{GuardAway, GuardMode};
use serde::{Deserialize, Serialize};

const FILE: &str = "comity-guard.json";
const MODE: u32 = 0o644;
const BYTES_MAX: u64 = 4_096;

/// What a project wants of its guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Wanted {
    /// What happens about a conflict.
    pub(crate) mode: GuardMode,
    /// What happens when nobody can be asked.
    pub(crate) away: GuardAway,
}

/// Where it is kept.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    path: PathBuf,
}

impl Memory {
    /// Returns the memory of a repository.
    pub(crate) fn of(common_directory: &Path) -> Self {
        Self {
            path: common_directory.join(FILE),
        }
    }

    /// Recalls what was wanted last; a file that is missing, damaged or a link says nothing.
    pub(crate) fn recall(&self) -> Option<Wanted> {
        let found = std::fs::symlink_metadata(&self.path).ok()?;
        if !found.is_file() || found.len() > BYTES_MAX {
            return None;
        }
        serde_json::from_slice(&std::fs::read(&self.path).ok()?).ok()
    }

    /// Keeps what is wanted now. A repository that cannot be written to remembers nothing, which
    /// counts as `block`.
    pub(crate) fn keep(&self, wanted: Wanted) {
        if self.recall() == Some(wanted) {
            return;
        }
        if let Ok(text) = serde_json::to_vec(&wanted) {
            let _ = comity_archive::replace(&self.path, &text, MODE);
        }
    }

    /// Forgets it.
    pub(crate) fn forget(&self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // 3.11
    #[test]
    fn what_is_not_known_for_sure_is_not_known() {
        let directory = tempfile::tempdir().unwrap();
        let memory = Memory::of(directory.path());
        let file = directory.path().join(FILE);
        let wanted = Wanted {
            mode: GuardMode::Warn,
            away: GuardAway::Block,
        };
        assert_eq!(memory.recall(), None);
        memory.keep(wanted);
        assert_eq!(memory.recall(), Some(wanted));
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(text, r#"{"mode":"warn","away":"block"}"#);
        for damaged in ["", "{}", r#"{"mode":"on","away":"warn"}"#] {
            std::fs::write(&file, damaged).unwrap();
            assert_eq!(memory.recall(), None, "{damaged}");
        }
        memory.forget();
        std::fs::write(directory.path().join("elsewhere"), text).unwrap();
        std::os::unix::fs::symlink("elsewhere", &file).unwrap();
        assert_eq!(memory.recall(), None);
    }
}
