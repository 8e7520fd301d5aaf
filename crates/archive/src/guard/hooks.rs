//! Puts the guard's hooks into a repository and takes them away.

use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::folder::Folder;
use super::hook::Hook;
use super::script::{Author, Script, author, earlier};
use crate::replace::replace;

/// How much of a hook is read to know whose it is; ours are far smaller.
const SCRIPT_BYTES_MAX: u64 = 64 << 10;
const SCRIPT_MODE: u32 = 0o755;

/// How a hook stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// There is none.
    Missing,
    /// It is ours.
    Installed,
    /// It is ours, and runs an earlier one first.
    Chained,
    /// It is ours, but somebody changed it.
    Edited,
    /// It is somebody else's.
    Foreign,
    /// Somebody put another one in the place of ours; the earlier one is still kept.
    Replaced,
}

/// What was done with a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// Ours is there now.
    Installed,
    /// Ours is there now, and runs the earlier one first.
    Chained,
    /// Ours was there and is written anew.
    Refreshed,
    /// Ours is gone.
    Removed,
    /// Ours is gone, and the earlier one is back as it was.
    Restored,
    /// There was nothing of ours.
    Nothing,
    /// It is left as it is, because somebody changed or replaced ours.
    Left(State),
}

/// A hook that cannot be written, moved or removed.
#[derive(Debug, thiserror::Error)]
#[error("`{}` cannot be changed", path.display())]
pub struct HookError {
    /// The hook.
    pub path: PathBuf,
    /// Why.
    #[source]
    pub source: std::io::Error,
}

/// The hooks of one directory.
#[derive(Clone, Debug)]
pub struct Hooks {
    folder: PathBuf,
}

impl Hooks {
    /// Takes the hooks of a directory.
    pub fn new(folder: &Folder) -> Self {
        Self {
            folder: folder.path().to_owned(),
        }
    }

    /// Tells how a hook stands.
    pub fn state(&self, hook: Hook) -> Result<State, HookError> {
        let path = self.path(hook);
        state(&path).map_err(|source| HookError { path, source })
    }

    /// Installs a hook; one that is there is kept and run first.
    pub fn install(&self, hook: Hook, script: &Script) -> Result<Done, HookError> {
        let path = self.path(hook);
        let folder = DirBuilder::new().recursive(true).create(&self.folder);
        folder
            .and_then(|()| install(&path, &script.text(hook)))
            .map_err(|source| HookError { path, source })
    }

    /// Takes a hook of ours away and puts back what was there before.
    pub fn uninstall(&self, hook: Hook) -> Result<Done, HookError> {
        let path = self.path(hook);
        uninstall(&path).map_err(|source| HookError { path, source })
    }

    /// Returns where a hook is.
    pub fn path(&self, hook: Hook) -> PathBuf {
        self.folder.join(hook.name())
    }
}

fn state(path: &Path) -> std::io::Result<State> {
    let is_kept = is_there(&earlier(path))?;
    let Some(author) = author_of(path)? else {
        return Ok(State::Missing);
    };
    Ok(match (author, is_kept) {
        (Author::Guard, false) => State::Installed,
        (Author::Guard, true) => State::Chained,
        (Author::GuardAndSomebody, _) => State::Edited,
        (Author::Somebody, false) => State::Foreign,
        // The same file under both names: an installation that was interrupted.
        (Author::Somebody, true) if is_same(path, &earlier(path))? => State::Foreign,
        (Author::Somebody, true) => State::Replaced,
    })
}

fn install(path: &Path, text: &[u8]) -> std::io::Result<Done> {
    let done = match state(path)? {
        State::Missing if is_there(&earlier(path))? => Done::Chained,
        State::Missing => Done::Installed,
        State::Installed | State::Chained => Done::Refreshed,
        State::Foreign => {
            keep(path)?;
            Done::Chained
        }
        left @ (State::Edited | State::Replaced) => return Ok(Done::Left(left)),
    };
    replace(path, text, SCRIPT_MODE)?;
    Ok(done)
}

/// Gives a hook its second name. A link, so that Git finds a hook at every moment; where there are no
/// hard links, it is moved.
fn keep(path: &Path) -> std::io::Result<()> {
    let kept = earlier(path);
    match std::fs::hard_link(path, &kept) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let is_done = is_same(path, &kept)?;
            if is_done { Ok(()) } else { Err(error) }
        }
        Err(_) => std::fs::rename(path, &kept),
    }
}

fn uninstall(path: &Path) -> std::io::Result<Done> {
    let kept = earlier(path);
    match state(path)? {
        State::Chained => std::fs::rename(&kept, path).map(|()| Done::Restored),
        // Somebody removed ours by hand.
        State::Missing if is_there(&kept)? => std::fs::rename(&kept, path).map(|()| Done::Restored),
        State::Installed => std::fs::remove_file(path).map(|()| Done::Removed),
        State::Missing | State::Foreign => Ok(Done::Nothing),
        left @ (State::Edited | State::Replaced) => Ok(Done::Left(left)),
    }
}

/// Tells whose a hook is; a link is never ours, and not followed.
fn author_of(path: &Path) -> std::io::Result<Option<Author>> {
    let found = match std::fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if is_absence(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    if found.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    if !found.is_file() {
        return Ok(Some(Author::Somebody));
    }
    let mut text = Vec::new();
    let file = std::fs::File::open(path)?;
    file.take(SCRIPT_BYTES_MAX).read_to_end(&mut text)?;
    Ok(Some(author(&text)))
}

fn is_there(path: &Path) -> std::io::Result<bool> {
    match std::fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if is_absence(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

fn is_same(one: &Path, other: &Path) -> std::io::Result<bool> {
    let one = std::fs::symlink_metadata(one)?;
    let other = std::fs::symlink_metadata(other)?;
    Ok((one.dev(), one.ino()) == (other.dev(), other.ino()))
}

fn is_absence(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}
