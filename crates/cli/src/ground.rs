//! Paths as people type them, made into paths of a project.
//!
//! A project is its main worktree's root. Whoever is in a directory below it, or in a linked worktree,
//! types `a.rs` and means `sub/a.rs`.

use std::path::{Component, Path, PathBuf};

use comity_domain::{LiteralPath, ProjectKey};
use comity_kernel::Error;
use comity_kernel::project::ProjectRef;

use crate::globals::Globals;
use crate::guard::Memory;
use crate::{parse, place, who, worktree};

/// Where typed paths begin, and the project they are in.
pub(crate) struct Ground {
    here: PathBuf,
    /// The project's root, with links resolved.
    root: PathBuf,
    /// The project as requests name it: one that is not the agent's own is refused there.
    pub(crate) project: ProjectRef,
}

impl Ground {
    /// Begins in the current directory, in the project that the options name.
    pub(crate) fn of(globals: &Globals) -> Result<Self, Error> {
        Self::at(&place::here()?, globals.project.as_ref())
    }

    /// Begins in a directory, in the named project or else the directory's own.
    pub(crate) fn at(here: &Path, named: Option<&ProjectRef>) -> Result<Self, Error> {
        let here = resolved(here);
        let own = place::key_of(&here)?;
        let project = match named {
            Some(named) => place::named_project(named)?,
            None => place::reference(&own)?,
        };
        // A slug, or the key of a directory on another machine, says nothing about this disk.
        let named_root = Path::new(&*project);
        let root = if named_root.is_absolute() && named_root.is_dir() {
            named_root
        } else {
            Path::new(&*own)
        };
        Ok(Self {
            root: root.to_owned(),
            here,
            project,
        })
    }

    /// Tells whether this can be the project of a slug, as far as its directory's name says.
    pub(crate) fn may_be(&self, slug: &str) -> bool {
        let key = ProjectKey::parse(&self.project);
        key.map_or(true, |key| who::is_slug_of(slug, &key.slug()))
    }

    /// Returns what the repository's guard remembers of the project, where there is a repository.
    pub(crate) fn memory(&self) -> Option<Memory> {
        let common = self.root.join(".git");
        common.is_dir().then(|| Memory::of(&common))
    }

    /// Returns a path from the project's root; one outside of the project is none.
    pub(crate) fn inside(&self, typed: &Path) -> Option<PathBuf> {
        let path = resolved(&self.here.join(typed));
        let root = worktree::root_of(&self.root, &path)?;
        path.strip_prefix(root).ok().map(Path::to_owned)
    }

    /// Reads paths that were typed.
    pub(crate) fn paths(&self, typed: &[PathBuf]) -> Result<Vec<LiteralPath>, Error> {
        typed.iter().map(|typed| self.path(typed)).collect()
    }

    fn path(&self, typed: &Path) -> Result<LiteralPath, Error> {
        let (shown, root) = (typed.display(), self.root.display());
        let inside = self.inside(typed).ok_or_else(|| {
            Error::invalid(
                "paths",
                format!("must be in the project: `{shown}` is outside of `{root}`"),
            )
        })?;
        if inside.as_os_str().is_empty() {
            let rule =
                format!("must not be the whole project, as `{shown}` is: that is `--pattern '**'`");
            return Err(Error::invalid("paths", rule));
        }
        literal(&inside)
    }
}

/// Reads a path from the project's root.
pub(crate) fn literal(inside: &Path) -> Result<LiteralPath, Error> {
    let text = inside.to_str().ok_or_else(|| {
        let rule = format!("must be UTF-8, and `{}` is not", inside.display());
        Error::invalid("paths", rule)
    })?;
    parse::text(text).map_err(|rule| Error::invalid("paths", rule))
}

/// Follows links as far as there is something; the rest may be made later.
fn resolved(path: &Path) -> PathBuf {
    if let Ok(whole) = path.canonicalize() {
        return whole;
    }
    let mut found = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                found.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                found.push(part);
                if let Ok(target) = found.canonicalize() {
                    found = target;
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ground() -> (tempfile::TempDir, Ground) {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("web");
        std::fs::create_dir_all(root.join(".git")).unwrap();
        std::fs::create_dir_all(root.join("sub/deep")).unwrap();
        std::fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        std::os::unix::fs::symlink("sub", root.join("link")).unwrap();
        let ground = Ground::at(&root.join("sub"), None).unwrap();
        (directory, ground)
    }

    #[test]
    fn a_path_is_read_from_where_one_is() {
        let (directory, ground) = ground();
        let read = |typed: &str| ground.path(Path::new(typed)).map(|path| path.to_string());
        for (typed, path) in [
            ("a.rs", "sub/a.rs"),
            ("./deep/", "sub/deep"),
            ("../top.rs", "top.rs"),
            ("new/../not/there.rs", "sub/not/there.rs"),
            ("../link/a.rs", "sub/a.rs"),
            ("[id].tsx", "sub/[id].tsx"),
        ] {
            assert_eq!(read(typed).unwrap(), path, "{typed}");
        }
        let absolute = directory.path().join("web/x y");
        assert_eq!(read(absolute.to_str().unwrap()).unwrap(), "x y");
    }

    #[test]
    fn a_path_outside_and_the_whole_project_are_refused() {
        let (_directory, ground) = ground();
        let refused = |typed: &str| ground.path(Path::new(typed)).unwrap_err().to_string();
        for outside in ["../../other", "/etc/passwd"] {
            assert!(refused(outside).contains("outside of"), "{outside}");
        }
        assert!(refused("..").contains("--pattern '**'"));
        assert!(refused("a\nb").contains("`paths`"));
    }
}
