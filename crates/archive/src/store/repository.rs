//! The repository of an archive: made aside, locked, cleared, read and moved on.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use comity_domain::Seq;
use comity_domain::token::to_hex;
use comity_kernel::ambient::Ambient;
use comity_kernel::archive::ArchiveId;
use comity_kernel::epoch::Standing;
use serde::{Deserialize, Serialize};

use super::error::ArchiveError;
use super::import::{self, Commit, FindBlob};
use super::leftovers;
use super::message::{self, Trailers};
use crate::git::{Git, GitError};
use crate::object_id::ObjectId;
use crate::replace::replace;

/// What says that a repository is an archive of ours.
const MARK: &str = "comity.json";
/// What its last commit says, for whoever cannot wait for `git`.
const END: &str = "comity.end";
/// Packs after which they are put together.
const PACKS_MAX: usize = 50;
/// How long that may take.
const REPACK_MAX: Duration = Duration::from_mins(10);
/// Bytes that must stay free on the archive's disk.
const RESERVE_BYTES: u64 = 64 << 20;
/// Files that must be possible there.
const RESERVE_FILES: u64 = 100;

/// An archive that this process may write.
pub(super) struct Archive {
    path: PathBuf,
    git: Git,
    lock: File,
    id: ArchiveId,
    epoch: String,
    head: Option<Head>,
}

/// Where an archive ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) commit: ObjectId,
    /// The last event that is in it.
    pub(super) through: Seq,
    /// Whose log it is.
    pub(super) epoch: String,
    /// The chain's hash there.
    pub(super) hash: String,
}

#[derive(Serialize, Deserialize)]
struct Mark {
    archive: String,
    epoch: String,
}

impl Archive {
    /// Opens the archive of a workspace, making it if there is none.
    ///
    /// Whoever opens it holds `archive.lock` until it is dropped and no `git` of it lives.
    pub(super) fn open(
        path: &Path,
        lock: &Path,
        standing: &Standing,
        ambient: &Ambient,
    ) -> Result<Self, ArchiveError> {
        crate::version::check()?;
        let lock = take(lock)?;
        let epoch = standing.epoch.as_str();
        put_aside_if_left(path, standing)?;
        let through = standing.pruned_to;
        if !path.exists() && through > Seq::ZERO {
            return Err(ArchiveError::Needed { through });
        }
        if !path.exists() {
            let mark = Mark {
                archive: to_hex(&ambient.random::<8>()),
                epoch: epoch.to_owned(),
            };
            make(path, &mark)?;
        }
        let mark = mark_of(path)?;
        if mark.epoch != epoch {
            return Err(foreign(path, "is of another workspace"));
        }
        let id = ArchiveId::parse(mark.archive).map_err(|_| foreign(path, "has a broken mark"))?;
        leftovers::clear(path).map_err(ArchiveError::io("left-over locks cannot be removed"))?;
        let mut archive = Self {
            git: Git::bare_at(path),
            path: path.to_owned(),
            lock,
            id,
            epoch: epoch.to_owned(),
            head: None,
        };
        archive.head = head_of(&archive.git, path)?;
        if archive
            .head
            .as_ref()
            .is_some_and(|head| head.epoch != epoch)
        {
            return Err(foreign(path, "ends with a commit of another workspace"));
        }
        Ok(archive)
    }

    /// Makes an empty one beside it, with the same mark and under the same lock.
    pub(super) fn beside(&self, path: &Path) -> Result<Self, ArchiveError> {
        let lock = self.lock.try_clone();
        let lock = lock.map_err(ArchiveError::io("the lock cannot be shared"))?;
        let mark = Mark {
            archive: self.id.to_string(),
            epoch: self.epoch.clone(),
        };
        make(path, &mark)?;
        Ok(Self {
            git: Git::bare_at(path),
            path: path.to_owned(),
            lock,
            id: self.id.clone(),
            epoch: self.epoch.clone(),
            head: None,
        })
    }

    /// Returns what tells it from others of the workspace.
    pub(super) fn id(&self) -> &ArchiveId {
        &self.id
    }

    /// Returns where it ends; nothing before the first commit.
    pub(super) fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    /// Returns the last event that is in it.
    pub(super) fn through(&self) -> Seq {
        self.head.as_ref().map_or(Seq::ZERO, |head| head.through)
    }

    /// Adds a commit that goes to this event, and waits until it is on the disk.
    pub(super) fn commit(
        &mut self,
        events: &[comity_kernel::log::Recorded],
        files: &[super::render::File],
        through: Seq,
        blob: &mut FindBlob<'_>,
    ) -> Result<(), ArchiveError> {
        self.must_have_room()?;
        self.must_be_as_left()?;
        let hash = match (events.last(), &self.head) {
            (Some(last), _) => to_hex(&last.hash),
            (None, Some(head)) => head.hash.clone(),
            (None, None) => String::new(),
        };
        let trailers = Trailers {
            through,
            epoch: self.epoch.clone(),
            hash,
        };
        let at = events.last().map(|event| event.at);
        let commit = Commit {
            parent: self.head.as_ref().map(|head| &head.commit),
            at: at.unwrap_or(comity_domain::Timestamp::from_micros(0)),
            message: message::write(events, &trailers),
            files,
        };
        let made = match import::run(&self.git, &self.lock, &commit, blob) {
            Ok(made) => made,
            Err(error) => {
                // The disk may have got full meanwhile: then no file is to blame (D4).
                self.must_have_room()?;
                return Err(error);
            }
        };
        if loose_head(&self.path).as_ref() != Some(&made) {
            return Err(foreign(&self.path, "was moved by somebody else"));
        }
        self.flush()?;
        self.head = Some(Head {
            commit: made,
            through,
            epoch: trailers.epoch,
            hash: trailers.hash,
        });
        Ok(())
    }

    /// Waits until everything is on the disk: only then may anybody rely on it (D2).
    pub(super) fn flush(&self) -> Result<(), ArchiveError> {
        let failed = ArchiveError::io("the archive cannot be flushed");
        let directory = match File::open(&self.path) {
            Ok(directory) => directory,
            Err(error) => return Err(failed(error)),
        };
        rustix::fs::syncfs(&directory).map_err(|error| failed(error.into()))
    }

    fn must_have_room(&self) -> Result<(), ArchiveError> {
        let stat = rustix::fs::statvfs(&self.path).map_err(|error| {
            ArchiveError::io("the archive's disk cannot be asked")(error.into())
        })?;
        let bytes = stat.f_bavail.saturating_mul(stat.f_frsize);
        // Some file systems do not count files, and say that there are none.
        let files_are_counted = stat.f_files > 0;
        if bytes < RESERVE_BYTES || files_are_counted && stat.f_favail < RESERVE_FILES {
            return Err(ArchiveError::Full);
        }
        Ok(())
    }

    /// Refuses to go on from what somebody else left: it is never overwritten (fault 6).
    pub(super) fn must_be_as_left(&self) -> Result<(), ArchiveError> {
        if !self.path.exists() {
            return Err(ArchiveError::Gone);
        }
        if mark_of(&self.path)?.archive != *self.id {
            return Err(foreign(&self.path, "is another one than before"));
        }
        let known = self.head.as_ref().map(|head| &head.commit);
        let found = loose_head(&self.path).or_else(|| packed_head(&self.path));
        if found.as_ref() == known {
            return Ok(());
        }
        Err(foreign(&self.path, "was moved by somebody else"))
    }

    /// Puts packs together when there are many; judged by counting, not by what git says (D13).
    pub(super) fn repack(&self) -> Result<(), ArchiveError> {
        let before = packs(&self.path)?;
        if before < PACKS_MAX {
            return Ok(());
        }
        // If the last one was killed, it left as much as it had put together (D13).
        leftovers::clear(&self.path)
            .map_err(ArchiveError::io("left-over packs cannot be removed"))?;
        // Like an import it holds the lock, should this process be killed meanwhile (D8).
        let held = self.lock.try_clone();
        let held = held.map_err(ArchiveError::io("the lock cannot be shared"))?;
        let mut command = self.git.repack();
        command
            .stdin(Stdio::from(held))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = command.spawn().map_err(GitError::DoesNotRun)?;
        let said = import::wait(&mut child, REPACK_MAX, "repack");
        let after = packs(&self.path)?;
        if after < before {
            tracing::debug!(before, after, "the archive's packs were put together");
        } else {
            tracing::warn!(
                before,
                after,
                ?said,
                "the archive's packs could not be put together"
            );
        }
        Ok(())
    }
}

/// Whoever leaves it writes down where it ends, unless somebody else's is in its place. The note names its
/// commit, so that an old or a broken one does no harm.
impl Drop for Archive {
    fn drop(&mut self) {
        if self.must_be_as_left().is_ok()
            && let Some(Head {
                commit,
                through,
                epoch,
                hash,
            }) = &self.head
        {
            let note = format!("{commit} {through} {epoch} {hash}\n");
            let _ = std::fs::write(self.path.join(END), note);
        }
    }
}

/// Takes a lock, which ends with the last process that holds it.
pub(super) fn take(path: &Path) -> Result<File, ArchiveError> {
    let mut options = OpenOptions::new();
    let file = options.create(true).truncate(false).write(true).open(path);
    let file = file.map_err(ArchiveError::io("its lock cannot be opened"))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(ArchiveError::Held),
        Err(TryLockError::Error(error)) => Err(ArchiveError::io("its lock cannot be taken")(error)),
    }
}

/// Makes a repository aside, flushes it and puts it in its place: it is there whole or not at all.
fn make(path: &Path, mark: &Mark) -> Result<(), ArchiveError> {
    let failed = || ArchiveError::io("the archive cannot be made");
    let aside = path.with_extension("new");
    if aside.exists() {
        std::fs::remove_dir_all(&aside).map_err(failed())?;
    }
    std::fs::create_dir(&aside).map_err(failed())?;
    let git = Git::bare_at(&aside);
    let arguments = [
        "init",
        "--quiet",
        "--bare",
        "--initial-branch=main",
        "--template=",
    ];
    git.run(&arguments, Vec::new())?;
    let mark = serde_json::to_vec(mark).map_err(comity_kernel::Error::from)?;
    replace(&aside.join(MARK), &mark, 0o600).map_err(failed())?;
    let about = "The archive of a Comity workspace. It is written by `comity serve` alone.\n";
    replace(&aside.join("description"), about.as_bytes(), 0o600).map_err(failed())?;
    let directory = File::open(&aside).map_err(failed())?;
    rustix::fs::syncfs(&directory).map_err(|error| failed()(error.into()))?;
    std::fs::rename(&aside, path).map_err(failed())?;
    let parent = path.parent().unwrap_or(Path::new("."));
    let parent = File::open(parent).map_err(failed())?;
    parent.sync_all().map_err(failed())
}

/// Puts the archive of an epoch that was left beside its place: it alone has what was lost.
fn put_aside_if_left(path: &Path, standing: &Standing) -> Result<(), ArchiveError> {
    if !path.exists() {
        return Ok(());
    }
    let Mark { epoch, .. } = mark_of(path)?;
    let Some(end) = standing.left(&epoch).filter(|_| epoch != standing.epoch) else {
        return Ok(());
    };
    let head = head_of(&Git::bare_at(path), path)?;
    if let Some(head) = head.filter(|head| head.through >= end) {
        return Err(ArchiveError::Ahead {
            archive: head.through,
            database: standing.seq,
        });
    }
    let failed = || ArchiveError::io("the archive of an epoch that was left cannot be put aside");
    let mut names = std::iter::once(String::new()).chain((2..u32::MAX).map(|n| format!("-{n}")));
    let free = names.find_map(|number| {
        let kept = path.with_file_name(format!("archive-{epoch}{number}.git"));
        (!kept.exists()).then_some(kept)
    });
    let kept = free.ok_or_else(|| foreign(path, "has no name left to be put aside under"))?;
    std::fs::rename(path, &kept).map_err(failed())?;
    let parent = File::open(path.parent().unwrap_or(Path::new("."))).map_err(failed())?;
    parent.sync_all().map_err(failed())?;
    tracing::warn!(kept = %kept.display(), "the archive of the epoch that was left is kept");
    Ok(())
}

/// Returns what tells an archive from others of its workspace.
pub(super) fn id_of(path: &Path) -> Result<ArchiveId, ArchiveError> {
    let mark = mark_of(path)?;
    ArchiveId::parse(mark.archive).map_err(|_| foreign(path, "has a broken mark"))
}

fn mark_of(path: &Path) -> Result<Mark, ArchiveError> {
    let text = match std::fs::read(path.join(MARK)) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(foreign(path, "was not made by Comity"));
        }
        Err(error) => return Err(ArchiveError::io("the archive cannot be read")(error)),
    };
    serde_json::from_slice(&text).map_err(|_| foreign(path, "has a broken mark"))
}

fn foreign(path: &Path, what: &str) -> ArchiveError {
    ArchiveError::Foreign {
        what: format!("the repository `{}` {what}", path.display()),
    }
}

/// Reads where an archive ends, without the right to write it.
pub(super) fn head_of(git: &Git, path: &Path) -> Result<Option<Head>, ArchiveError> {
    let answer = git.run(&["cat-file", "--batch"], b"refs/heads/main\n".to_vec())?;
    let text = String::from_utf8_lossy(&answer);
    let (first, content) = text
        .split_once('\n')
        .ok_or_else(|| GitError::not_understood("cat-file"))?;
    if first.ends_with(" missing") {
        return Ok(None);
    }
    let commit = first.split(' ').next().map(str::as_bytes);
    let commit = commit.and_then(ObjectId::parse);
    let commit = commit.ok_or_else(|| GitError::not_understood("cat-file"))?;
    let message = content.split_once("\n\n").map(|(_, message)| message);
    let trailers = message.and_then(message::trailers);
    let trailers = trailers.ok_or_else(|| foreign(path, "ends with a commit of somebody else"))?;
    Ok(Some(Head {
        commit,
        through: trailers.through,
        epoch: trailers.epoch,
        hash: trailers.hash,
    }))
}

/// Reads where an archive ends from the note of whoever wrote it last, if that is still so.
pub(super) fn noted_head(path: &Path) -> Option<Head> {
    let note = std::fs::read_to_string(path.join(END)).ok()?;
    let mut words = note.strip_suffix('\n')?.split(' ');
    let head = Head {
        commit: ObjectId::parse(words.next()?.as_bytes())?,
        through: Seq::new(words.next()?.parse().ok()?),
        epoch: words.next()?.to_owned(),
        hash: words.next()?.to_owned(),
    };
    (loose_head(path)? == head.commit).then_some(head)
}

/// Reads the reference as its file has it.
fn loose_head(path: &Path) -> Option<ObjectId> {
    let text = std::fs::read(path.join("refs/heads/main")).ok()?;
    ObjectId::parse(text.strip_suffix(b"\n").unwrap_or(&text))
}

/// Reads the reference where somebody packed it together with others.
fn packed_head(path: &Path) -> Option<ObjectId> {
    let text = std::fs::read_to_string(path.join("packed-refs")).ok()?;
    let mut lines = text.lines();
    lines.find_map(|line| ObjectId::parse(line.strip_suffix(" refs/heads/main")?.as_bytes()))
}

/// Counts the packs that git reads, not what it left half-made.
fn packs(path: &Path) -> Result<usize, ArchiveError> {
    let failed = || ArchiveError::io("the archive's packs cannot be counted");
    let entries = std::fs::read_dir(path.join("objects/pack")).map_err(failed())?;
    let is_pack = |entry: &std::fs::DirEntry| {
        let (name, path) = (entry.file_name(), entry.path());
        name.as_encoded_bytes().starts_with(b"pack-")
            && path.extension().is_some_and(|end| end == "pack")
            && path.with_extension("idx").exists()
    };
    Ok(entries.flatten().filter(is_pack).count())
}
