//! Where the data lies, and which project a directory is.

use std::path::{Path, PathBuf};

use comity_domain::ProjectKey;
use comity_kernel::Error;
use comity_kernel::project::ProjectRef;

use crate::worktree;

/// The name of a data directory inside a project.
pub(crate) const DIRECTORY: &str = ".comity";

/// Returns the data directory: the given one, the nearest upwards, or the user's.
pub(crate) fn data_directory(given: Option<&Path>) -> Result<PathBuf, Error> {
    match given {
        Some(path) => std::path::absolute(path).map_err(|error| Error::Unusable {
            what: format!("`{}` is no directory: {error}", path.display()),
        }),
        None => nearest(&here()?).map_or_else(users, Ok),
    }
}

/// Returns the key of the project in the current directory.
pub(crate) fn current_project() -> Result<ProjectKey, Error> {
    key_of(&here()?)
}

/// Returns the key of the project in a directory; one that is not there is taken at its word.
pub(crate) fn key_of(path: &Path) -> Result<ProjectKey, Error> {
    let root = worktree::project_root(path).unwrap_or_else(|_| path.to_owned());
    let text = root.to_str().ok_or_else(|| {
        let shown = root.display();
        Error::invalid("project", format!("must be UTF-8, and `{shown}` is not"))
    })?;
    ProjectKey::parse(text).map_err(|rule| Error::invalid("project", rule))
}

/// Resolves a project that is given as a path: absolute, or relative from `.` on.
///
/// Whoever names a worktree or a symlink means the same project as whoever is in it.
pub(crate) fn named_project(named: &ProjectRef) -> Result<ProjectRef, Error> {
    let first = named.split('/').next();
    if !first.is_some_and(|first| matches!(first, "" | "." | "..")) {
        return Ok(named.clone());
    }
    reference(&key_of(Path::new(&**named))?)
}

/// Names a project by its key.
pub(crate) fn reference(key: &ProjectKey) -> Result<ProjectRef, Error> {
    ProjectRef::parse(&**key).map_err(|rule| Error::invalid("project", rule))
}

/// Returns the current directory.
pub(crate) fn here() -> Result<PathBuf, Error> {
    std::env::current_dir().map_err(|error| Error::Unusable {
        what: format!("the current directory is gone: {error}"),
    })
}

/// Finds the nearest `.comity`: up to the worktree's root, at the main worktree's, then above.
fn nearest(start: &Path) -> Option<PathBuf> {
    let tree = worktree::around(start);
    let root = tree.as_ref().map(|tree| tree.root.as_path());
    let (inside, above): (Vec<_>, Vec<_>) = start
        .ancestors()
        .partition(|directory| root.is_some_and(|root| directory.starts_with(root)));
    let main = tree.as_ref().map(|tree| tree.main.as_path());
    inside
        .into_iter()
        .chain(main)
        .chain(above)
        .map(|directory| directory.join(DIRECTORY))
        .find(|candidate| candidate.is_dir())
}

/// The user's data directory.
fn users() -> Result<PathBuf, Error> {
    let absolute = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    absolute("XDG_DATA_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/share")))
        .map(|base| base.join("comity"))
        .ok_or_else(|| Error::Unusable {
            what: "there is no home directory; say `--data DIR`".to_owned(),
        })
}
