//! Compares where an archive ends with where its database does (A14).

use std::path::Path;

use comity_domain::Seq;
use comity_domain::token::to_hex;
use comity_kernel::epoch::{AskStanding, LinkAt, LostEnd, Standing};
use comity_kernel::log::{Event, Recorded};
use comity_kernel::{Actor, Error, Kernel};

use super::contents::Contents;
use super::error::ArchiveError;
use super::repository::{Head, head_of, noted_head};
use super::restore::events_of;
use crate::git::Git;

/// How a database stands to the archive beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// It has all that the archive has, or the archive is not of it.
    Whole,
    /// The archive goes on where the database ends.
    Lost(Behind),
    /// The database lost its end and has grown another one.
    Replaced(Behind),
}

/// An archive that has what its database has not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behind {
    standing: Standing,
    epoch: String,
    through: Seq,
    /// Where the search for what was lost begins.
    after: Seq,
}

impl End {
    /// Compares the ends; an archive that cannot be read is its own matter.
    pub fn of(repository: &Path, kernel: &Kernel) -> Result<Self, Error> {
        if !repository.exists() {
            return Ok(Self::Whole);
        }
        let noted = noted_head(repository);
        let read = || head_of(&Git::bare_at(repository), repository).ok()?;
        let Some(head) = noted.or_else(read) else {
            return Ok(Self::Whole);
        };
        let standing = kernel.query(Actor::System, AskStanding).wait()?.answer;
        let (mine, left) = (
            head.epoch == standing.epoch,
            standing.left(&head.epoch).map(|end| head.through >= end),
        );
        let behind = |after| Behind {
            epoch: head.epoch.clone(),
            through: head.through,
            after,
            standing: standing.clone(),
        };
        let is_lost = match (mine, left) {
            (true, _) => head.through > standing.seq,
            // Another server began a new epoch, without knowing how far this archive goes.
            (false, Some(goes_on)) => goes_on,
            // An epoch that began after this copy was made has the copy's log in its own.
            (false, None) => holds(repository, &standing),
        };
        if is_lost {
            return Ok(Self::Lost(behind(standing.seq.min(head.through))));
        }
        match same_log(kernel, &head) {
            Ok(false) if mine => Ok(Self::Replaced(behind(Seq::ZERO))),
            // An archive that ends in what was pruned lost its own end; whoever writes it says so.
            Ok(_) | Err(Error::Pruned { .. }) => Ok(Self::Whole),
            Err(error) => Err(error),
        }
    }

    /// Refuses a database that has lost its end, whether or not it has grown another since.
    pub fn must_not_be_lost(&self) -> Result<(), Error> {
        match self {
            Self::Whole => Ok(()),
            Self::Lost(behind) | Self::Replaced(behind) => Err(Error::BehindArchive {
                archive: behind.through,
                database: behind.standing.seq,
            }),
        }
    }
}

impl Behind {
    /// Reads from the archive what a new epoch must stay above.
    pub fn read(self, repository: &Path) -> Result<LostEnd, ArchiveError> {
        let mut largest = 0;
        if let Some(contents) = Contents::of(repository)? {
            let pieces = contents.pieces()?.into_iter();
            let lost = pieces.filter(|(_, last, _)| *last > self.after);
            contents.read_each(lost.map(|(_, _, path)| path), |path, bytes| {
                let events = events_of(path, bytes)?;
                largest = events.iter().map(largest_id).fold(largest, i64::max);
                Ok(())
            })?;
        }
        Ok(LostEnd {
            standing: self.standing,
            epoch: self.epoch,
            through: self.through,
            largest,
        })
    }
}

fn largest_id(recorded: &Recorded) -> i64 {
    let payload = recorded.payload.as_deref().unwrap_or_default();
    let event = Event::read(&recorded.kind, recorded.v, payload);
    let known = event.and_then(Result::ok);
    known.map_or(recorded.subject_id, |event| event.inner().largest_id())
}

/// Tells whether the database has the archive's last event.
pub(super) fn same_log(kernel: &Kernel, head: &Head) -> Result<bool, Error> {
    let asked = LinkAt { seq: head.through };
    let found = kernel.query(Actor::System, asked).wait()?.answer;
    Ok(found.is_some_and(|hash| to_hex(&hash) == head.hash))
}

/// Tells whether the archive has the database's last event.
fn holds(repository: &Path, standing: &Standing) -> bool {
    let Ok(Some(contents)) = Contents::of(repository) else {
        return false;
    };
    let Ok(pieces) = contents.pieces() else {
        return false;
    };
    let mut pieces = pieces.into_iter();
    let piece = pieces.find(|(first, last, _)| (*first..=*last).contains(&standing.seq));
    let mut found = false;
    let read = contents.read_each(piece.map(|(_, _, path)| path).into_iter(), |path, bytes| {
        let events = events_of(path, bytes)?;
        found = events.iter().any(|event| event.hash == standing.hash);
        Ok(())
    });
    read.is_ok() && found
}
