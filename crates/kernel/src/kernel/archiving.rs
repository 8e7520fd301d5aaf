//! The kernel's side of the archive: who answers for it, and what is noted of it.

use std::sync::{Arc, PoisonError};

use comity_domain::Seq;

use super::{Kernel, on_thread};
use crate::archive::position::{Freed, MadeAnew, Moved, NotWritten};
use crate::archive::{ArchiveId, Archivist, Export, Exported, Exporting};
use crate::error::Error;
use crate::ticket::Ticket;

impl Kernel {
    /// Lets somebody who writes the archive answer for it.
    pub fn attach(&self, archivist: Arc<dyn Archivist>) {
        *self
            .archivist
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(archivist);
    }

    /// Asks whoever writes the archive, on a thread of its own.
    pub(crate) fn ask_archivist<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn Archivist) -> Result<T, Error> + Send + 'static,
    ) -> Ticket<T> {
        let archivist = self.archivist.lock();
        let archivist = archivist.unwrap_or_else(PoisonError::into_inner).clone();
        match archivist {
            Some(archivist) => on_thread(move || ask(&*archivist)),
            None => Ticket::answered(Err(Error::Unusable {
                what: "there is no archive here".to_owned(),
            })),
        }
    }

    /// Writes a project's mail as pages for people, on a thread of its own; one at a time.
    pub(crate) fn export(&self, asked: Export) -> Ticket<Exported> {
        let Some(exports) = self.exports.clone() else {
            return Ticket::answered(Err(Error::Unusable {
                what: "there is no directory for exports".to_owned(),
            }));
        };
        let at = self.ambient.clock.read(None).wall;
        let exporting = Exporting { asked, exports, at };
        let turn = Arc::clone(&self.long_work);
        self.ask_archivist(move |archivist| match turn.try_lock() {
            Ok(_turn) => archivist.export(&exporting),
            Err(_) => Err(Error::Busy {
                reason: "another examination, copy or export runs".to_owned(),
            }),
        })
    }

    /// Notes that an archive has come further, and what of it could not be written.
    pub fn archive_moved(
        &self,
        archive: ArchiveId,
        first: Seq,
        through: Seq,
        quarantined: Vec<NotWritten>,
    ) -> Ticket<()> {
        self.upkeep(Moved {
            archive,
            first,
            through,
            quarantined,
        })
    }

    /// Notes that an archive was made anew, begun when the log had come this far.
    pub fn archive_made_anew(&self, archive: ArchiveId, clean_to: Seq) -> Ticket<()> {
        self.upkeep(MadeAnew { archive, clean_to })
    }

    /// Notes that something of an archive left the quarantine.
    pub fn archive_freed(&self, archive: ArchiveId, seq: Seq, path: String) -> Ticket<()> {
        self.upkeep(Freed { archive, seq, path })
    }
}
