//! The whole log of a workspace, where its beginning is in the archive alone.

use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use comity_domain::Seq;
use comity_kernel::archive::batch::LogPage;
use comity_kernel::checkpoint::History as _;
use comity_kernel::epoch::Standing;
use comity_kernel::transfer::Refill;
use comity_kernel::{Actor, Error, Kernel, Options};

use super::archiver::Archiver;
use super::error::ArchiveError;
use super::past::Past;
use super::repository::take;

/// A copy of the workspace that has the whole log, beside the archive; it goes when it is dropped.
///
/// The files of an archive are rendered from the events and from what is known of them, so whoever
/// renders those of events that were pruned asks the copy.
pub(super) struct Whole {
    kernel: Option<Kernel>,
    directory: PathBuf,
    /// There is one at a time.
    _turn: Turn,
}

/// The right to have the copy.
///
/// It is given back by name: a program that somebody starts at that moment has the file, too, until
/// it is one of its own.
struct Turn(File);

impl Drop for Turn {
    fn drop(&mut self) {
        if let Err(error) = self.0.unlock() {
            tracing::warn!(error = %error, "the turn at the whole log ends with the programs started");
        }
    }
}

/// Removes a copy that a crash left, unless somebody uses it: it has what may be redacted since.
pub(super) fn clear(repository: &Path) {
    let directory = place(repository);
    if !directory.exists() {
        return;
    }
    let cleared =
        turn(repository).and_then(|_turn| std::fs::remove_dir_all(&directory).map_err(failed()));
    match cleared {
        Ok(()) | Err(ArchiveError::Kernel(Error::Busy { .. })) => {}
        Err(error) => tracing::warn!(error = %error, "the copy of the whole log stays"),
    }
}

fn place(repository: &Path) -> PathBuf {
    repository.with_extension("whole")
}

fn turn(repository: &Path) -> Result<Turn, ArchiveError> {
    match take(&repository.with_extension("whole.lock")) {
        Ok(file) => Ok(Turn(file)),
        Err(ArchiveError::Held) => Err(ArchiveError::Kernel(Error::Busy {
            reason: "another `archive verify` or `archive rebuild` reads the whole log".to_owned(),
        })),
        Err(error) => Err(error),
    }
}

fn failed() -> impl FnOnce(std::io::Error) -> ArchiveError {
    ArchiveError::io("the whole log cannot be put beside the archive")
}

impl Whole {
    /// Makes one: what was pruned from the archive, the rest from the log, the chain followed.
    pub(super) fn of(archiver: &Archiver, standing: &Standing) -> Result<Self, ArchiveError> {
        let directory = place(archiver.repository());
        let turn = turn(archiver.repository())?;
        if directory.exists() {
            std::fs::remove_dir_all(&directory).map_err(failed())?;
        }
        DirBuilder::new()
            .mode(0o700)
            .create(&directory)
            .map_err(failed())?;
        let mut whole = Self {
            kernel: None,
            directory,
            _turn: turn,
        };
        let options = Options::sqlite(whole.directory.join("comity.db"));
        Self::fill(archiver, standing, &options)?;
        archiver.failpoint("whole.filled")?;
        whole.kernel = Some(Kernel::open(options)?);
        Ok(whole)
    }

    fn fill(
        archiver: &Archiver,
        standing: &Standing,
        options: &Options,
    ) -> Result<(), ArchiveError> {
        let mut refill = Refill::into(options)?;
        let past = Past::of(archiver.repository().to_owned());
        past.pages(standing.pruned_to, &mut |page| refill.events(page, None))?;
        let mut after = standing.pruned_to;
        // To the very end: what was redacted before a page was read has its event there.
        loop {
            let asked = LogPage { after };
            let page = archiver.kernel().query(Actor::System, asked).wait()?.answer;
            let Some(last) = page.last().map(|event| event.seq) else {
                break;
            };
            refill.events(&page, None)?;
            after = last;
            archiver.failpoint("whole.page")?;
        }
        refill.finish(&standing.epoch)?;
        Ok(())
    }

    /// Returns the kernel of the copy.
    pub(super) fn kernel(&self) -> Result<&Kernel, ArchiveError> {
        let closed = || Error::Unusable {
            what: "the copy of the whole log is closed".to_owned(),
        };
        Ok(self.kernel.as_ref().ok_or_else(closed)?)
    }
}

impl Drop for Whole {
    fn drop(&mut self) {
        self.kernel = None;
        if let Err(error) = std::fs::remove_dir_all(&self.directory) {
            tracing::warn!(error = %error, "the copy of the whole log could not be removed");
        }
    }
}

/// Where pieces of the whole log come from: the kernel's own, if nothing was pruned.
pub(super) enum Source<'a> {
    Log(&'a Kernel),
    Whole(Box<Whole>),
}

impl<'a> Source<'a> {
    pub(super) fn of(archiver: &'a Archiver) -> Result<Self, ArchiveError> {
        let standing = archiver.standing()?;
        Ok(match standing.pruned_to {
            Seq::ZERO => Self::Log(archiver.kernel()),
            _ => Self::Whole(Box::new(Whole::of(archiver, &standing)?)),
        })
    }

    pub(super) fn kernel(&self) -> Result<&Kernel, ArchiveError> {
        match self {
            Self::Log(kernel) => Ok(kernel),
            Self::Whole(whole) => whole.kernel(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // L8: a program that was started meanwhile has the file a moment longer
    #[test]
    fn a_turn_ends_with_whoever_took_it() {
        let directory = tempfile::tempdir().unwrap();
        let repository = directory.path().join("archive.git");
        let first = turn(&repository).unwrap();
        assert!(turn(&repository).is_err());
        let inherited = first.0.try_clone().unwrap();
        drop(first);
        turn(&repository).unwrap();
        drop(inherited);
    }
}
