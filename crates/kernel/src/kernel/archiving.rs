//! The kernel's side of the archive: who answers for it, and what is noted of it.

use std::sync::{Arc, PoisonError};

use comity_domain::Seq;

use super::{Kernel, ask, keep_up, on_thread, submit};
use crate::actor::{Actor, Caller};
use crate::ambient::Ambient;
use crate::archive::position::{Freed, MadeAnew, Moved, NotWritten};
use crate::archive::{ArchiveId, Archivist, Export, Exported, Exporting};
use crate::checkpoint::history::{History, checkpoint_at};
use crate::checkpoint::{IsLeft, PlanPrune, Prune, PruneLog, PrunePiece, Pruned};
use crate::error::Error;
use crate::store::job::{Audience, Job};
use crate::store::queue::Queue;
use crate::store::readers::ReadQueue;
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

    /// Prunes the log on a thread of its own: the archive is folded up to there first, and must come
    /// to what the log has. One such work at a time.
    pub(crate) fn prune(&self, caller: Caller, asked: Prune) -> Ticket<Pruned> {
        let Some(history) = self.history.clone() else {
            return Ticket::answered(Err(Error::Unusable {
                what: "there is no archive here, which must have what is pruned".to_owned(),
            }));
        };
        let pruning = Pruning {
            queue: Arc::clone(&self.queue),
            reads: Arc::clone(&self.reads),
            ambient: self.ambient.clone(),
            history,
            caller,
        };
        let turn = Arc::clone(&self.long_work);
        on_thread(move || match turn.try_lock() {
            Ok(_turn) => pruning.run(asked),
            Err(_) => Err(Error::Busy {
                reason: "another examination, copy or export runs".to_owned(),
            }),
        })
    }

    /// Notes that an archive has come further by events that were read when the log had come this
    /// far, and what of them could not be written.
    pub fn archive_moved(
        &self,
        archive: ArchiveId,
        (first, through): (Seq, Seq),
        read_at: Seq,
        quarantined: Vec<NotWritten>,
    ) -> Ticket<()> {
        self.upkeep(Moved {
            archive,
            first,
            through,
            read_at,
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

/// The pruning of a log, with what of the kernel it takes.
struct Pruning {
    queue: Arc<Queue<Box<dyn Job>>>,
    reads: Arc<ReadQueue>,
    ambient: Ambient,
    history: Arc<dyn History>,
    caller: Caller,
}

impl Pruning {
    fn run(self, asked: Prune) -> Result<Pruned, Error> {
        let keep = asked.keep()?;
        let archive = self.history.archive()?;
        let plan = PlanPrune {
            keep,
            archive: archive.clone(),
        };
        let plan = ask(&self.reads, &self.ambient, Actor::System, plan).wait()?;
        let plan = plan.answer;
        if asked.dry_run || plan.through == plan.pruned_to {
            return Ok(plan.told(asked.dry_run));
        }
        if !plan.in_the_way.is_empty() {
            let by = plan.in_the_way;
            return Err(Error::StillNeeded { by });
        }
        let found = checkpoint_at(&*self.history, plan.through, plan.schema, &self.ambient)?;
        self.ambient.failpoints.hit("prune.proven")?;
        let command = PruneLog {
            archive: archive.to_string(),
            through: plan.through,
            hash: found.hash,
            state_hash: found.state_hash.clone(),
            schema: found.schema,
        };
        // It needs no key: what was pruned stays pruned, however often somebody asks.
        let caller = Caller {
            key: None,
            ..self.caller
        };
        submit(&self.queue, &self.ambient, caller, command, Audience::Any).wait()?;
        while ask(&self.reads, &self.ambient, Actor::System, IsLeft)
            .wait()?
            .answer
        {
            keep_up(&self.queue, &self.ambient, PrunePiece).wait()?;
        }
        Ok(Pruned {
            state_hash: Some(found.state_hash),
            ..plan.told(false)
        })
    }
}
