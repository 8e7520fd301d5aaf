//! Finds the root of a repository's main worktree by reading files: no `git` process is started.

use std::path::{Path, PathBuf};

/// The worktree a directory lies in.
pub(crate) struct Worktree {
    /// Its own root.
    pub(crate) root: PathBuf,
    /// The root of the main worktree; the same unless this one is linked.
    pub(crate) main: PathBuf,
}

/// Finds the worktree around a directory.
pub(crate) fn around(start: &Path) -> Option<Worktree> {
    start.ancestors().find_map(at)
}

/// Returns what a project in this directory is called: the main worktree's root, or the
/// directory itself, with links resolved.
pub(crate) fn project_root(start: &Path) -> std::io::Result<PathBuf> {
    let start = start.canonicalize()?;
    match around(&start) {
        Some(worktree) => worktree.main.canonicalize(),
        None => Ok(start),
    }
}

/// Finds where the paths of a project begin around a place: at the root of the nearest of its
/// worktrees, the main one or a linked one. Repositories of other projects in between are passed.
pub(crate) fn root_of(project: &Path, place: &Path) -> Option<PathBuf> {
    let is_root = |directory: &&Path| {
        *directory == project
            || at(directory).is_some_and(|tree| {
                let main = tree.main.canonicalize();
                main.is_ok_and(|main| main == project)
            })
    };
    place.ancestors().find(is_root).map(Path::to_owned)
}

fn at(root: &Path) -> Option<Worktree> {
    let git = root.join(".git");
    let main = if git.is_dir() {
        // An empty `.git` is no repository to Git either.
        git.join("HEAD").exists().then(|| root.to_owned())?
    } else {
        main_of(root, &std::fs::read_to_string(git).ok()?)?
    };
    Some(Worktree {
        root: root.to_owned(),
        main,
    })
}

/// Follows a `.git` file. A linked worktree's directory names the common one; a submodule's and
/// a separate one name none, and are main themselves.
fn main_of(root: &Path, pointer: &str) -> Option<PathBuf> {
    let directory = root.join(pointer.strip_prefix("gitdir:")?.trim());
    let Ok(common) = std::fs::read_to_string(directory.join("commondir")) else {
        return directory.is_dir().then(|| root.to_owned());
    };
    let common = directory.join(common.trim()).canonicalize().ok()?;
    match common.parent() {
        Some(parent) if common.ends_with(".git") => Some(parent.to_owned()),
        // A bare repository has no main worktree; it stands for itself.
        _ => Some(common),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().canonicalize().unwrap();
        let linked = base.join("main/.git/worktrees/wt");
        std::fs::create_dir_all(&linked).unwrap();
        std::fs::create_dir_all(base.join("main/src")).unwrap();
        std::fs::create_dir_all(base.join("wt/src")).unwrap();
        std::fs::write(base.join("main/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::write(linked.join("commondir"), "../..\n").unwrap();
        let pointer = format!("gitdir: {}\n", linked.display());
        std::fs::write(base.join("wt/.git"), pointer).unwrap();
        (directory, base)
    }

    #[test]
    fn a_linked_worktree_leads_to_the_main_one() {
        let (_directory, base) = repository();
        for start in ["main", "main/src", "wt", "wt/src"] {
            assert_eq!(project_root(&base.join(start)).unwrap(), base.join("main"));
        }
        assert_eq!(around(&base.join("wt/src")).unwrap().root, base.join("wt"));
    }

    #[test]
    fn paths_begin_at_the_nearest_worktree_of_their_project() {
        let (_directory, base) = repository();
        let main = base.join("main");
        let inner = main.join("sub");
        std::fs::create_dir_all(inner.join(".git")).unwrap();
        std::fs::write(inner.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        for (place, root) in [
            ("main/src/a", Some("main")),
            ("wt/src/not/there", Some("wt")),
            ("main/sub/a", Some("main")),
            ("elsewhere", None),
        ] {
            let found = root_of(&main, &base.join(place));
            assert_eq!(found, root.map(|root| base.join(root)), "{place}");
        }
        assert_eq!(root_of(&inner, &inner.join("a")), Some(inner));
    }

    #[test]
    fn a_submodule_is_its_own_root_and_an_empty_git_directory_is_none() {
        let (_directory, base) = repository();
        let sub = base.join("main/sub");
        std::fs::create_dir_all(base.join("main/.git/modules/sub")).unwrap();
        std::fs::create_dir_all(sub.join("empty/.git")).unwrap();
        std::fs::write(sub.join(".git"), "gitdir: ../.git/modules/sub\n").unwrap();
        assert_eq!(project_root(&sub.join("empty")).unwrap(), sub);
    }

    #[test]
    fn a_directory_outside_of_any_repository_is_itself() {
        let (_directory, base) = repository();
        let link = base.join("link");
        std::fs::create_dir(base.join("plain")).unwrap();
        std::os::unix::fs::symlink(base.join("plain"), &link).unwrap();
        assert_eq!(project_root(&link).unwrap(), base.join("plain"));
    }
}
