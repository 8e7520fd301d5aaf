//! The directory where Git looks for hooks.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};

use crate::git::GitError;
use crate::repository::Repository;

/// A directory of hooks inside a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    path: PathBuf,
    in_work_tree: bool,
}

/// Why hooks have no place in a repository.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// Git does not say where they would be.
    #[error(transparent)]
    Git(#[from] GitError),
    /// They are shared with other repositories, or switched off.
    #[error(
        "`core.hooksPath` is `{}`, which lies outside of this repository: hooks there are not this repository's alone",
        .0.display()
    )]
    Outside(PathBuf),
}

impl Folder {
    /// Finds the directory whose hooks Git runs. `core.hooksPath` may come from the person's own
    /// files, which Git obeys as well; outside of the repository it is refused.
    pub fn effective(repository: &Repository) -> Result<Self, FolderError> {
        let Some(setting) = Self::setting(repository)? else {
            return Ok(Self::usual(repository));
        };
        let outside = || FolderError::Outside(setting.clone());
        if setting.as_os_str().is_empty() {
            return Err(outside());
        }
        let common = repository.common_directory();
        // Relative to where hooks run: the root of the work tree, or else the repository itself.
        let start = repository.work_tree().unwrap_or(common);
        let path = resolved(&start.join(&setting)).ok_or_else(outside)?;
        if path.starts_with(common) {
            let in_work_tree = false;
            return Ok(Self { path, in_work_tree });
        }
        let main = common.parent().filter(|_| common.ends_with(".git"));
        let mut roots = [repository.work_tree(), main].into_iter().flatten();
        if roots.any(|root| path.starts_with(root)) {
            let in_work_tree = true;
            return Ok(Self { path, in_work_tree });
        }
        Err(outside())
    }

    /// Returns the directory where hooks are unless a setting says otherwise; all work trees share it.
    pub fn usual(repository: &Repository) -> Self {
        Self {
            path: repository.common_directory().join("hooks"),
            in_work_tree: false,
        }
    }

    /// Reads `core.hooksPath`.
    pub fn setting(repository: &Repository) -> Result<Option<PathBuf>, GitError> {
        let setting = repository.git().setting("core.hooksPath")?;
        Ok(setting.map(|path| PathBuf::from(OsString::from_vec(path))))
    }

    /// Returns the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Tells whether its files could be committed by accident.
    pub fn is_in_work_tree(&self) -> bool {
        self.in_work_tree
    }
}

/// Resolves links as far as the path is there.
fn resolved(path: &Path) -> Option<PathBuf> {
    let there = path.ancestors().find_map(|ancestor| {
        let real = ancestor.canonicalize().ok()?;
        Some((real, path.strip_prefix(ancestor).ok()?))
    });
    let (real, rest) = there?;
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    rest.components().all(plain).then(|| real.join(rest))
}
