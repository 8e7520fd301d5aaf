//! Where a repository lies.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use crate::git::{Git, GitError};

/// A repository, with links in its paths resolved.
#[derive(Clone, Debug)]
pub struct Repository {
    git: Git,
    work_tree: Option<PathBuf>,
    common: PathBuf,
}

impl Repository {
    /// Finds the repository around a directory; what the environment says of one does not count.
    pub fn around(directory: &Path) -> Result<Self, GitError> {
        Self::of(Git::at(directory))
    }

    /// Finds the repository of the hook that this process is, and its index, as Git gave them.
    pub fn of_hook(directory: &Path) -> Result<Self, GitError> {
        Self::of(Git::of_hook(directory))
    }

    fn of(git: Git) -> Result<Self, GitError> {
        let common = path(&git, "--git-common-dir")?;
        let inside = git.run(&["rev-parse", "--is-inside-work-tree"], Vec::new())?;
        let work_tree = match inside.as_slice() {
            b"true\n" => Some(path(&git, "--show-toplevel")?),
            _ => None,
        };
        Ok(Self {
            git,
            work_tree,
            common,
        })
    }

    /// Returns the root of the work tree; a bare repository, or its inside, has none.
    pub fn work_tree(&self) -> Option<&Path> {
        self.work_tree.as_deref()
    }

    /// Returns the directory that all work trees of the repository share.
    pub fn common_directory(&self) -> &Path {
        &self.common
    }

    pub(crate) fn git(&self) -> &Git {
        &self.git
    }
}

fn path(git: &Git, which: &str) -> Result<PathBuf, GitError> {
    let arguments = ["rev-parse", "--path-format=absolute", which];
    let said = git.run(&arguments, Vec::new())?;
    let said = said.strip_suffix(b"\n").unwrap_or(&said).to_vec();
    PathBuf::from(OsString::from_vec(said))
        .canonicalize()
        .map_err(|_| GitError::not_understood("rev-parse"))
}
