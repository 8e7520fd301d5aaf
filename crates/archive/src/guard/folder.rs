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
    /// A setting shares them with other repositories, or switches them off.
    #[error(
        "`core.hooksPath` is `{}`, which lies outside of this repository: hooks there are not this repository's alone",
        .0.display()
    )]
    Outside(PathBuf),
    /// A link leads to where others have theirs.
    #[error(
        "`{}` is a link that leads out of this repository: hooks there are not this repository's alone",
        .0.display()
    )]
    Linked(PathBuf),
}

impl Folder {
    /// Finds the directory whose hooks Git runs. `core.hooksPath` may come from the person's own
    /// files, which Git obeys as well; outside of the repository it is refused.
    pub fn effective(repository: &Repository) -> Result<Self, FolderError> {
        let Some(setting) = Self::setting(repository)? else {
            return Self::usual(repository);
        };
        // Relative to where hooks run: the root of the work tree, or else the repository itself.
        let start = repository.work_tree();
        let start = start.unwrap_or_else(|| repository.common_directory());
        let found = Some(&setting)
            .filter(|setting| !setting.as_os_str().is_empty())
            .and_then(|setting| Self::inside(repository, &start.join(setting)));
        found.ok_or(FolderError::Outside(setting))
    }

    /// Returns the directory where hooks are unless a setting says otherwise; all work trees share it.
    pub fn usual(repository: &Repository) -> Result<Self, FolderError> {
        let path = repository.common_directory().join("hooks");
        Self::inside(repository, &path).ok_or(FolderError::Linked(path))
    }

    /// Takes a directory if it lies in the repository or in a work tree, wherever links lead.
    fn inside(repository: &Repository, path: &Path) -> Option<Self> {
        let path = resolved(path)?;
        let common = repository.common_directory();
        let main = common.parent().filter(|_| common.ends_with(".git"));
        let mut trees = [repository.work_tree(), main].into_iter().flatten();
        let in_work_tree = !path.starts_with(common);
        let is_inside = !in_work_tree || trees.any(|tree| path.starts_with(tree));
        is_inside.then_some(Self { path, in_work_tree })
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
    let is_plain = rest.components().all(plain);
    // Part by part: to join with nothing would leave a slash at the end.
    is_plain.then(|| real.iter().chain(rest).collect())
}
