//! The archive without a server: nobody follows the log, but whoever asks is answered.

use std::sync::{Arc, Weak};

use comity_archive::store::{ArchiveError, Archiver, Settings};
use comity_kernel::ambient::Ambient;
use comity_kernel::archive::{
    ArchiveStatus, Archivist, Exported, Exporting, Rebuilt, Retried, Verified,
};
use comity_kernel::{Error, Kernel};

use crate::failure::Failure;

/// Answers for an archive that nobody writes; each question opens it anew.
///
/// It must not keep the kernel alive, which keeps it.
pub(super) struct Resting {
    pub(super) kernel: Weak<Kernel>,
    pub(super) place: Settings,
}

impl Resting {
    /// Makes an archiver that writes. The database is examined first, as before each of its own writes:
    /// what is in the archive stays there.
    pub(super) fn writing(&self) -> Result<Archiver, Error> {
        self.kernel()?.probe().wait()?;
        self.archiver()
    }

    fn archiver(&self) -> Result<Archiver, Error> {
        let place = self.place.clone();
        Ok(Archiver::new(self.kernel()?, Ambient::system(), place))
    }

    fn kernel(&self) -> Result<Arc<Kernel>, Error> {
        self.kernel.upgrade().ok_or_else(|| Error::Unusable {
            what: "the database is closed".to_owned(),
        })
    }
}

impl Archivist for Resting {
    fn status(&self) -> Result<ArchiveStatus, Error> {
        self.archiver()?.status()
    }

    fn verify(&self) -> Result<Verified, Error> {
        self.archiver()?.verify()
    }

    fn rebuild(&self) -> Result<Rebuilt, Error> {
        self.writing()?.rebuild()
    }

    fn retry(&self) -> Result<Retried, Error> {
        self.writing()?.retry()
    }

    fn export(&self, exporting: &Exporting) -> Result<Exported, Error> {
        self.archiver()?.export(exporting)
    }
}

/// Says why nothing was archived, and what to do about it.
pub(super) fn not_archived(error: ArchiveError) -> Failure {
    match error {
        ArchiveError::Kernel(error) => error.into(),
        ArchiveError::Ahead { archive, database } => {
            Error::BehindArchive { archive, database }.into()
        }
        error => {
            let hint = error.hint().to_owned();
            Failure::unusable(error.to_string()).advised(Some(hint))
        }
    }
}
