//! `comity guard check`.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use clap::Args;
use comity_archive::guard::real_names;
use comity_kernel::Error;

use crate::failure::Failure;
use crate::globals::Globals;
use crate::guard::{Answer, Named, Unanswered, ask, could_not_ask, refused};
use crate::place;
use crate::show::{Shown, View};
use crate::worktree;

/// Asks about paths.
#[derive(Args)]
#[command(after_help = "Example: comity guard check src/parser.rs && edit src/parser.rs")]
pub(crate) struct Check {
    /// The paths, as you would give them to any program here; a directory stands for all below it.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
}

impl Check {
    pub(crate) fn run(&self, globals: &Globals) -> Result<Shown, Failure> {
        let named = self.named()?;
        let answer = ask(globals, named.paths()).map_err(|unanswered| match unanswered {
            Unanswered::Away(failure) => could_not_ask(&failure, None),
            Unanswered::Unanswerable(failure) => failure,
        })?;
        let judged = Answer::of(&answer).map_err(|failure| could_not_ask(&failure, None))?;
        let text = if judged.is_free() {
            "free".to_owned()
        } else {
            judged.lines().join("\n")
        };
        Ok(Shown {
            failure: (!judged.is_free()).then(|| refused(&judged.sum())),
            ..Shown::new(answer, View::Text(text))
        })
    }

    /// Names the paths from the root of the work tree, under every name they have there.
    fn named(&self) -> Result<Named, Error> {
        let here = place::here()?;
        let root = worktree::around(&here).map_or_else(|| here.clone(), |tree| tree.root);
        let mut names = BTreeSet::new();
        for path in &self.paths {
            let inside = inside(&root, &here.join(path));
            let inside = inside.ok_or_else(|| {
                let (path, root) = (path.display(), root.display());
                Error::invalid(
                    "paths",
                    format!("must lie below `{root}`, and `{path}` does not"),
                )
            })?;
            names.insert(inside.as_os_str().as_bytes().to_vec());
        }
        let mut others = real_names(&root, &names);
        names.append(&mut others);
        let question = Named::of(&names);
        match question.nameless.first() {
            Some(name) => {
                let rule = format!("must be UTF-8 without control characters, and `{name}` is not");
                Err(Error::invalid("paths", rule))
            }
            None => Ok(question),
        }
    }
}

/// Writes a path from the root on; the root itself has no name.
fn inside(root: &Path, path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    let inside = plain.strip_prefix(root).ok()?;
    (!inside.as_os_str().is_empty()).then(|| inside.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_written_from_the_root() {
        let named = |path: &str| inside(Path::new("/srv/web"), Path::new(path));
        for (path, name) in [
            ("/srv/web/src/a", Some("src/a")),
            ("/srv/web/src/../b", Some("b")),
            ("/srv/web/./src/", Some("src")),
            ("/srv/web", None),
            ("/srv/web/../api/a", None),
            ("/srv/webby/a", None),
        ] {
            assert_eq!(named(path), name.map(PathBuf::from), "{path}");
        }
    }
}
