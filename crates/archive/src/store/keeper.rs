//! Answers for the archive: how it stands, whether it is right, and what to do about it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use comity_domain::limits::ARCHIVE_BATCH_MAX;
use comity_domain::{Seq, Sha256Hex};
use comity_kernel::archive::position::ArchiveCuts;
use comity_kernel::archive::status::{ArchiveLag, Lag};
use comity_kernel::archive::{
    ArchiveId, ArchiveStatus, Archivist, Exported, Exporting, Quarantined, Rebuilt, Retried,
    Verified,
};
use comity_kernel::redaction::RedactionsSince;
use comity_kernel::{Actor, Error};
use rustix::fs::{CWD, RenameFlags};
use rustix::io::Errno;

use super::archiver::{Archiver, lock};
use super::contents::Contents;
use super::error::ArchiveError;
use super::render;
use super::repository::{head_of, id_of};
use super::verify;
use super::whole::Source;
use crate::export::export;
use crate::git::Git;

/// Quarantined entries that a status shows.
const QUARANTINED_SHOWN: i64 = 100;

/// Cuts that are read at a time.
const CUTS: i64 = 1_000;

impl Archivist for Archiver {
    fn status(&self) -> Result<ArchiveStatus, Error> {
        // What it finds is in the health.
        self.is_as_left();
        let health = self.health();
        let repository = self.repository();
        let through = through_of(repository).unwrap_or(Seq::ZERO);
        let lag = self.lag(through, QUARANTINED_SHOWN).map_err(told)?;
        let redacted_since_rebuild = self.redacted_since_rebuild(through).map_err(told)?;
        Ok(ArchiveStatus {
            state: health.state,
            detail: health.detail,
            repository: repository.display().to_string(),
            through,
            lag: lag.events,
            oldest_at: lag.oldest_at,
            redacted_since_rebuild,
            degraded_since: health.since,
            quarantined_count: lag.quarantined_count,
            quarantined: lag.quarantined,
        })
    }

    fn verify(&self) -> Result<Verified, Error> {
        verify::verify(self).map_err(told)
    }

    fn rebuild(&self) -> Result<Rebuilt, Error> {
        self.rebuild_archive().map_err(told)
    }

    fn retry(&self) -> Result<Retried, Error> {
        self.retry_quarantined().map_err(told)
    }

    fn export(&self, exporting: &Exporting) -> Result<Exported, Error> {
        export(self.kernel(), exporting)
    }
}

/// Says to callers why the archive did not do as asked.
fn told(error: ArchiveError) -> Error {
    match error {
        ArchiveError::Kernel(error) => error,
        error @ ArchiveError::Held => Error::Busy {
            reason: error.to_string(),
        },
        error => Error::Unusable {
            what: format!("{error}: {}", error.hint()),
        },
    }
}

/// Reads where an archive ends; nothing if there is none that can be read.
fn through_of(repository: &Path) -> Option<Seq> {
    if !repository.exists() {
        return None;
    }
    let head = head_of(&Git::bare_at(repository), repository).ok()??;
    Some(head.through)
}

impl Archiver {
    fn lag(&self, through: Seq, quarantined_max: i64) -> Result<Lag, ArchiveError> {
        // Before there is a repository, nothing is noted of it.
        let archive = id_of(self.repository()).or_else(|_| {
            ArchiveId::parse("none").map_err(|rule| Error::invalid("archive", rule))
        })?;
        let asked = ArchiveLag {
            archive,
            through,
            quarantined_max,
        };
        Ok(self.kernel().query(Actor::System, asked).wait()?.answer)
    }

    /// Counts the events that were redacted since the archive was made.
    pub(super) fn redacted_since_rebuild(&self, through: Seq) -> Result<i64, ArchiveError> {
        let Ok(archive) = id_of(self.repository()) else {
            return Ok(0);
        };
        let asked = RedactionsSince { archive, through };
        Ok(self.kernel().query(Actor::System, asked).wait()?.answer)
    }

    /// Returns the paths that are in quarantine.
    pub(super) fn quarantined(&self, through: Seq) -> Result<BTreeSet<String>, ArchiveError> {
        let lag = self.lag(through, i64::MAX)?;
        Ok(lag.quarantined.into_iter().map(|one| one.path).collect())
    }

    /// Makes the repository anew beside the old one, cut as that was, and puts it in its place.
    fn rebuild_archive(&self) -> Result<Rebuilt, ArchiveError> {
        let mut turn = lock(self.turn());
        let old = match turn.take() {
            Some(archive) => archive,
            None => self.open()?,
        };
        let (id, path) = (old.id().clone(), self.repository().to_owned());
        let aside = path.with_extension("git.rebuilt");
        if aside.exists() {
            let failed = ArchiveError::io("an unfinished rebuild cannot be removed");
            std::fs::remove_dir_all(&aside).map_err(failed)?;
        }
        // What was pruned comes from the old one.
        let source = Source::of(self)?;
        // What is redacted behind it may not be in the source: the new one is clean up to here.
        let head = *source.kernel()?.head().borrow();
        let mut fresh = old.beside(&aside)?;
        let mut commits = 0;
        let mut cuts = self.cuts(&id, Seq::ZERO)?.into_iter();
        let left_out: BTreeSet<_> = self
            .lag(old.through(), i64::MAX)?
            .quarantined
            .into_iter()
            .map(|one| (one.seq, one.path))
            .collect();
        while fresh.through() < head {
            let after = fresh.through();
            let next = self.next_cut(&mut cuts, &id, after)?;
            let (end, length) = match next {
                Some(next) => (next, (next.get() - after.get()).min(ARCHIVE_BATCH_MAX)),
                None => (Seq::new(i64::MAX), self.batch_max()),
            };
            let batch = Self::piece_of(source.kernel()?, after, end, length)?;
            if batch.events.is_empty() {
                break;
            }
            let mut files = render::files(&batch);
            files.retain(|file| !left_out.contains(&(file.seq, file.path.clone())));
            let blob = &mut |sha256: &_| self.blob_or_old(&path, sha256);
            self.commit_with(&mut fresh, &batch, files, blob)?;
            commits += 1;
            fresh.repack()?;
        }
        let through = fresh.through();
        self.failpoint("rebuild.complete")?;
        let kept = self.put_in_place(&aside, &path)?;
        drop((fresh, old));
        *turn = None;
        self.failpoint("rebuild.in_place")?;
        // Not before it lies there: until then what was redacted is in the old one (I8).
        self.kernel().archive_made_anew(id, head).wait()?;
        Ok(Rebuilt {
            through,
            commits,
            old: Some(kept.display().to_string()),
        })
    }

    /// Finds bytes in the database or, if it has lost them, in the repository that is replaced. What
    /// was redacted is not asked for.
    fn blob_or_old(&self, old: &Path, sha256: &Sha256Hex) -> Result<Option<Vec<u8>>, ArchiveError> {
        if let Some(found) = self.blob(sha256)? {
            return Ok(Some(found));
        }
        match Contents::of(old)? {
            Some(old) => old.attachment(sha256),
            None => Ok(None),
        }
    }

    /// Returns where the commit ended that followed this event; nothing if none did.
    fn next_cut(
        &self,
        cuts: &mut std::vec::IntoIter<Seq>,
        archive: &ArchiveId,
        after: Seq,
    ) -> Result<Option<Seq>, ArchiveError> {
        if let Some(cut) = cuts.find(|cut| *cut > after) {
            return Ok(Some(cut));
        }
        *cuts = self.cuts(archive, after)?.into_iter();
        Ok(cuts.next())
    }

    fn cuts(&self, archive: &ArchiveId, after: Seq) -> Result<Vec<Seq>, ArchiveError> {
        let asked = ArchiveCuts {
            archive: archive.clone(),
            after,
            limit: CUTS,
        };
        Ok(self.kernel().query(Actor::System, asked).wait()?.answer)
    }

    /// Writes what is in quarantine, each in a commit of its own that goes no further than the last.
    fn retry_quarantined(&self) -> Result<Retried, ArchiveError> {
        let mut turn = lock(self.turn());
        let archive = match &mut *turn {
            Some(archive) => archive,
            None => turn.insert(self.open()?),
        };
        let mut written = 0;
        let quarantined = self.lag(archive.through(), i64::MAX)?.quarantined;
        let newest = self.newest(&quarantined, archive.through())?;
        for one in quarantined {
            if newest.get(&one.path).is_some_and(|seq| *seq > one.seq) {
                // What came later is there, or in quarantine itself.
                let id = archive.id().clone();
                self.kernel().archive_freed(id, one.seq, one.path).wait()?;
                continue;
            }
            let batch = self.piece(Seq::new(one.seq.get() - 1), 1)?;
            let mut files = render::files(&batch);
            files.retain(|file| file.path == one.path);
            let through = archive.through();
            let blob = &mut |sha256: &_| self.blob(sha256);
            match archive.commit(&[], &files, through, blob) {
                Ok(()) => {
                    let freed =
                        self.kernel()
                            .archive_freed(archive.id().clone(), one.seq, one.path);
                    freed.wait()?;
                    written += 1;
                }
                Err(ArchiveError::File { path, reason, .. }) => {
                    tracing::warn!(path, reason, "still not archived");
                }
                Err(error) => return Err(error),
            }
        }
        let left = self.lag(archive.through(), 0)?.quarantined_count;
        Ok(Retried { written, left })
    }
}

impl Archiver {
    /// Finds the last event that writes each of these files: pages, agents and leases change.
    fn newest(
        &self,
        files: &[Quarantined],
        through: Seq,
    ) -> Result<BTreeMap<String, Seq>, ArchiveError> {
        let wanted: BTreeSet<_> = files.iter().map(|one| one.path.as_str()).collect();
        let mut newest = BTreeMap::new();
        let Some(first) = files.iter().map(|one| one.seq).min() else {
            return Ok(newest);
        };
        let mut after = first;
        loop {
            let batch = self.piece_up_to(after, through, self.batch_max())?;
            let Some(last) = batch.events.last() else {
                return Ok(newest);
            };
            after = last.seq;
            let written = render::files(&batch).into_iter();
            let written = written.filter(|file| wanted.contains(file.path.as_str()));
            newest.extend(written.map(|file| (file.path, file.seq)));
        }
    }
}

impl Archiver {
    /// Puts a repository in the place of another, which is kept under a new name.
    fn put_in_place(&self, fresh: &Path, path: &Path) -> Result<PathBuf, ArchiveError> {
        let failed = || ArchiveError::io("the rebuilt archive cannot be put in its place");
        let free = |number: &u32| !path.with_extension(format!("git.old-{number}")).exists();
        let number = (1..u32::MAX).find(free).unwrap_or(0);
        let kept = path.with_extension(format!("git.old-{number}"));
        // At no moment there is none: it may be the only one that has the beginning of the log.
        match rustix::fs::renameat_with(CWD, fresh, CWD, path, RenameFlags::EXCHANGE) {
            Ok(()) => {
                self.failpoint("rebuild.between")?;
                std::fs::rename(fresh, &kept).map_err(failed())?;
            }
            // Some file systems cannot do that.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                std::fs::rename(path, &kept).map_err(failed())?;
                self.failpoint("rebuild.between")?;
                std::fs::rename(fresh, path).map_err(failed())?;
            }
            Err(error) => return Err(failed()(error.into())),
        }
        let parent = path.parent().unwrap_or(Path::new("."));
        let parent = std::fs::File::open(parent).map_err(failed())?;
        parent.sync_all().map_err(failed())?;
        Ok(kept)
    }
}
