//! The oldest part of a log that was pruned, as an archive has it.

use std::path::{Path, PathBuf};

use comity_domain::Seq;
use comity_kernel::Error;
use comity_kernel::archive::ArchiveId;
use comity_kernel::checkpoint::History;
use comity_kernel::checkpoint::history::Visit;

use super::contents::Contents;
use super::error::ArchiveError;
use super::repository::id_of;
use super::restore::events_of;

/// The log of an archive, read without the right to write it.
#[derive(Clone, Debug)]
pub struct Past {
    repository: PathBuf,
}

impl Past {
    /// Reads the log of a repository; whether it is there is found out when somebody reads.
    pub const fn of(repository: PathBuf) -> Self {
        Self { repository }
    }

    fn nothing_there(&self) -> ArchiveError {
        ArchiveError::Foreign {
            what: format!("there is no archive at `{}`", self.repository.display()),
        }
    }

    fn must_be_there(&self) -> Result<&Path, ArchiveError> {
        let there = self.repository.exists();
        there
            .then_some(&*self.repository)
            .ok_or_else(|| self.nothing_there())
    }

    fn read(&self, through: Seq, visit: Visit<'_>) -> Result<(), ArchiveError> {
        let contents = Contents::of(self.must_be_there()?)?;
        let contents = contents.ok_or_else(|| self.nothing_there())?;
        let pieces = contents.pieces()?.into_iter();
        let wanted = pieces.take_while(|(first, _, _)| *first <= through);
        contents.read_each(wanted.map(|(_, _, path)| path), |path, bytes| {
            let mut events = events_of(path, bytes)?;
            events.retain(|event| event.seq <= through);
            Ok(visit(&events)?)
        })
    }
}

impl History for Past {
    fn archive(&self) -> Result<ArchiveId, Error> {
        self.must_be_there().and_then(id_of).map_err(told)
    }

    fn pages(&self, through: Seq, visit: Visit<'_>) -> Result<(), Error> {
        self.read(through, visit).map_err(told)
    }
}

fn told(error: ArchiveError) -> Error {
    match error {
        ArchiveError::Kernel(error) => error,
        error => Error::Unusable {
            what: error.to_string(),
        },
    }
}
