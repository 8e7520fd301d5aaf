//! Follows the log and archives it, piece by piece.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use comity_domain::{Seq, Sha256Hex, Timestamp};
use comity_kernel::ambient::Ambient;
use comity_kernel::archive::batch::Blob;
use comity_kernel::archive::position::{ArchivePosition, NotWritten};
use comity_kernel::archive::{ArchiveBatch, ArchiveState, Batch};
use comity_kernel::epoch::{AskStanding, Standing};
use comity_kernel::{Actor, Error, Kernel};

use super::error::ArchiveError;
use super::import::FindBlob;
use super::lost::same_log;
use super::render::{self, Content, File};
use super::repository::Archive;
use super::{line, place, whole};
use crate::git::GitError;

/// Bytes of payload of one commit, unless a single event has more.
const BYTES_MAX: i64 = 8 << 20;

/// Where an archive lies and how it is cut.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The repository.
    pub repository: PathBuf,
    /// The lock beside it.
    pub lock: PathBuf,
    /// How many events go into one commit at most.
    pub batch_max: i64,
}

/// How much one step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The last event that is archived now.
    pub through: Seq,
    /// Whether there may be more.
    pub more: bool,
}

/// Archives the log of a kernel.
pub struct Archiver {
    kernel: Arc<Kernel>,
    ambient: Ambient,
    settings: Settings,
    /// The turn of whoever writes; the archive stays open between steps.
    archive: Mutex<Option<Archive>>,
    health: Mutex<Health>,
}

/// How it is doing.
#[derive(Clone, Debug)]
pub(super) struct Health {
    pub(super) state: ArchiveState,
    pub(super) detail: String,
    pub(super) since: Option<Timestamp>,
}

impl Archiver {
    /// Makes one; nothing is opened yet.
    pub fn new(kernel: Arc<Kernel>, ambient: Ambient, settings: Settings) -> Self {
        Self {
            kernel,
            ambient,
            settings,
            archive: Mutex::default(),
            health: Mutex::new(Health {
                state: ArchiveState::Resting,
                detail: String::new(),
                since: None,
            }),
        }
    }

    pub(super) fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    pub(super) fn repository(&self) -> &Path {
        &self.settings.repository
    }

    pub(super) const fn batch_max(&self) -> i64 {
        self.settings.batch_max
    }

    pub(super) const fn turn(&self) -> &Mutex<Option<Archive>> {
        &self.archive
    }

    pub(super) fn health(&self) -> Health {
        lock(&self.health).clone()
    }

    /// Archives the next piece of the log, if there is one; what goes wrong is remembered.
    pub fn step(&self) -> Result<Cut, ArchiveError> {
        let mut archive = lock(&self.archive);
        let cut = self.step_in(&mut archive);
        match &cut {
            Ok(_) => self.note(None),
            Err(error) => {
                self.note(Some(error));
                // It is opened anew: whatever is wrong with it must be found out again.
                *archive = None;
            }
        }
        cut
    }

    /// Looks whether the archive is as it was left; while it is written, nobody else looks. What is
    /// wrong with it is remembered, and it is opened anew at the next step (fault 6, K5).
    pub fn is_as_left(&self) -> bool {
        let mut archive = match self.archive.try_lock() {
            Ok(archive) => archive,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return true,
        };
        match archive.as_ref().map(Archive::must_be_as_left) {
            None => false,
            Some(Ok(())) => true,
            Some(Err(error)) => {
                self.note(Some(&error));
                *archive = None;
                false
            }
        }
    }

    /// Archives everything there is.
    pub fn drain(&self) -> Result<Seq, ArchiveError> {
        loop {
            let cut = self.step()?;
            if !cut.more {
                return Ok(cut.through);
            }
        }
    }

    fn step_in(&self, slot: &mut Option<Archive>) -> Result<Cut, ArchiveError> {
        let archive = match slot {
            Some(archive) => archive,
            None => slot.insert(self.open()?),
        };
        let after = archive.through();
        let batch = self.piece(after, self.settings.batch_max)?;
        let Some(last) = batch.events.last().map(|event| event.seq) else {
            return Ok(Cut {
                through: after,
                more: false,
            });
        };
        self.write(archive, &batch)?;
        archive.repack()?;
        Ok(Cut {
            through: last,
            more: true,
        })
    }

    /// Reads a piece of the log, and what its files are rendered from.
    pub(super) fn piece(&self, after: Seq, events_max: i64) -> Result<Batch, ArchiveError> {
        self.piece_up_to(after, Seq::new(i64::MAX), events_max)
    }

    /// Reads a piece of the log that goes no further than an event.
    pub(super) fn piece_up_to(
        &self,
        after: Seq,
        through: Seq,
        events_max: i64,
    ) -> Result<Batch, ArchiveError> {
        Self::piece_of(&self.kernel, after, through, events_max)
    }

    /// Reads it from a kernel that may be another one with the same log.
    pub(super) fn piece_of(
        kernel: &Kernel,
        after: Seq,
        through: Seq,
        events_max: i64,
    ) -> Result<Batch, ArchiveError> {
        let asked = ArchiveBatch {
            after,
            through,
            events_max,
            bytes_max: BYTES_MAX,
        };
        Ok(kernel.query(Actor::System, asked).wait()?.answer)
    }

    /// Asks where the log stands.
    pub(super) fn standing(&self) -> Result<Standing, ArchiveError> {
        Ok(self.kernel.query(Actor::System, AskStanding).wait()?.answer)
    }

    pub(super) fn open(&self) -> Result<Archive, ArchiveError> {
        let Settings {
            repository, lock, ..
        } = &self.settings;
        let standing = self.standing()?;
        let archive = Archive::open(repository, lock, &standing, &self.ambient)?;
        whole::clear(repository);
        let database = standing.seq;
        if archive.through() > database {
            return Err(ArchiveError::Ahead {
                archive: archive.through(),
                database,
            });
        }
        self.must_be_the_same_log(&archive)?;
        // The commit is the truth; a crash may have kept its note from being written (D2).
        let asked = ArchivePosition {
            archive: archive.id().clone(),
        };
        let noted = self.kernel.query(Actor::System, asked).wait()?.answer;
        let noted = noted.map_or(Seq::ZERO, |position| position.through);
        if noted < archive.through() {
            archive.flush()?;
            let span = (noted.next(), archive.through());
            // Nobody knows any more when its events were read.
            let moved =
                self.kernel
                    .archive_moved(archive.id().clone(), span, Seq::ZERO, Vec::new());
            moved.wait()?;
        }
        Ok(archive)
    }

    /// Refuses to go on from another log: the database may have been put back and grown again.
    fn must_be_the_same_log(&self, archive: &Archive) -> Result<(), ArchiveError> {
        let Some(head) = archive.head() else {
            return Ok(());
        };
        let through = head.through;
        match same_log(&self.kernel, head) {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(Error::Pruned { oldest_seq }) => {
                return Err(ArchiveError::Old {
                    through,
                    oldest_seq,
                });
            }
            Err(error) => return Err(error.into()),
        }
        Err(ArchiveError::Foreign {
            what: format!(
                "the archive's log is not the database's: they differ at event {through} or before"
            ),
        })
    }

    /// Writes a piece; if that fails, event by event, so that one that cannot be written harms only
    /// itself (D4).
    fn write(&self, archive: &mut Archive, batch: &Batch) -> Result<(), ArchiveError> {
        self.failpoint("archive.before_objects")?;
        let files = render::files(batch);
        match self.commit(archive, batch, files) {
            Ok(()) => self.moved(archive, batch, Vec::new()),
            Err(error) if is_about_content(&error) => {
                tracing::warn!(error = %error, "a piece could not be archived; its events go one by one");
                self.one_by_one(archive, batch)
            }
            Err(error) => Err(error),
        }
    }

    fn one_by_one(&self, archive: &mut Archive, batch: &Batch) -> Result<(), ArchiveError> {
        for event in &batch.events {
            let before = Seq::new(event.seq.get() - 1);
            let single = self.piece(before, 1)?;
            let mut files = render::files(&single);
            let mut quarantined = Vec::new();
            loop {
                match self.commit(archive, &single, files.clone()) {
                    Ok(()) => break,
                    Err(ArchiveError::File { seq, path, reason }) => {
                        files.retain(|file| file.path != path);
                        quarantined.push(NotWritten { seq, path, reason });
                    }
                    // Git does not say which file it minds: the line alone must be possible.
                    Err(ArchiveError::Git(error @ GitError::Failed { .. }))
                        if !files.is_empty() =>
                    {
                        let reason = error.to_string();
                        let all = files.drain(..).map(|file| NotWritten {
                            seq: file.seq,
                            path: file.path,
                            reason: reason.clone(),
                        });
                        quarantined.extend(all);
                    }
                    Err(error) => return Err(error),
                }
            }
            for one in &quarantined {
                tracing::error!(seq = %one.seq, path = one.path, reason = one.reason, "not archived");
            }
            self.moved(archive, &single, quarantined)?;
        }
        Ok(())
    }

    pub(super) fn commit(
        &self,
        archive: &mut Archive,
        batch: &Batch,
        files: Vec<File>,
    ) -> Result<(), ArchiveError> {
        self.commit_with(archive, batch, files, &mut |sha256| self.blob(sha256))
    }

    /// Writes a piece with bytes that may come from elsewhere.
    pub(super) fn commit_with(
        &self,
        archive: &mut Archive,
        batch: &Batch,
        mut files: Vec<File>,
        blob: &mut FindBlob<'_>,
    ) -> Result<(), ArchiveError> {
        let (Some(first), Some(last)) = (batch.events.first(), batch.events.last()) else {
            return Ok(());
        };
        files.push(File {
            seq: first.seq,
            path: place::log(first.seq, last.seq),
            content: Content::Bytes(line::write(&batch.events)?),
        });
        archive.commit(&batch.events, &files, last.seq, blob)?;
        self.failpoint("archive.after_ref")
    }

    pub(super) fn blob(&self, sha256: &Sha256Hex) -> Result<Option<Vec<u8>>, ArchiveError> {
        let asked = self.kernel.query(Actor::System, Blob { sha256: *sha256 });
        Ok(asked.wait()?.answer)
    }

    fn moved(
        &self,
        archive: &Archive,
        batch: &Batch,
        quarantined: Vec<NotWritten>,
    ) -> Result<(), ArchiveError> {
        let (Some(first), Some(last)) = (batch.events.first(), batch.events.last()) else {
            return Ok(());
        };
        let id = archive.id().clone();
        let span = (first.seq, last.seq);
        let moved = self
            .kernel
            .archive_moved(id, span, batch.read_at, quarantined);
        moved.wait()?;
        self.failpoint("archive.after_cursor")
    }

    pub(super) fn failpoint(&self, name: &'static str) -> Result<(), ArchiveError> {
        let hit = self.ambient.failpoints.hit(name);
        hit.map_err(|error| ArchiveError::Kernel(error.into()))
    }

    /// Remembers how it is doing, and since when not well.
    fn note(&self, error: Option<&ArchiveError>) {
        let mut health = lock(&self.health);
        let Some(error) = error else {
            *health = Health {
                state: ArchiveState::Following,
                detail: String::new(),
                since: None,
            };
            return;
        };
        let since = health
            .since
            .unwrap_or_else(|| self.ambient.clock.read(None).wall);
        *health = Health {
            state: if error.needs_a_person() {
                ArchiveState::Stopped
            } else {
                ArchiveState::Degraded
            },
            detail: format!("{error}: {}", error.hint()),
            since: Some(since),
        };
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tells whether an error may be the fault of one entry, so that the others can do without it.
fn is_about_content(error: &ArchiveError) -> bool {
    matches!(
        error,
        ArchiveError::File { .. } | ArchiveError::Git(GitError::Failed { .. })
    )
}
