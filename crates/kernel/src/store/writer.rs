//! The writer: the only thread that changes anything.
//!
//! It takes what waits, runs each command in a savepoint of one transaction, commits once and
//! answers then (B1). A command that fails is undone alone (B2). When the transaction itself is
//! lost on the way, nobody is answered and the batch is run again one by one (B3).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use comity_domain::Seq;
use comity_domain::limits::{BATCH_RETRIES_MAX, RECONNECT_US_MAX};
use tokio::sync::watch;

use super::job::{Job, Kept};
use super::queue::{Next, Queue};
use super::search::Indexing;
use super::{CommitError, Head, StoreError, WriteEngine};
use crate::ambient::{Ambient, Now, Reading};
use crate::error::{Error, Impossible, with_causes};
use crate::follow::publish;
use crate::log::table::move_head;
use crate::memory::Memory;
use crate::tx::{Batch, Tip};

/// How long nothing must come before the engine may tidy up.
const IDLE: Duration = Duration::from_millis(200);

/// How long to wait before a lost connection is tried again.
const RECONNECT_PAUSE: Duration = Duration::from_millis(50);

/// Which database the writer was started for; another one under it stops it (L11).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) epoch: String,
    pub(crate) schema: i64,
}

/// The state of the writer thread.
pub(crate) struct Writer {
    pub(crate) engine: Box<dyn WriteEngine>,
    pub(crate) queue: Arc<Queue<Box<dyn Job>>>,
    pub(crate) ambient: Ambient,
    pub(crate) memory: Arc<Memory>,
    pub(crate) identity: Identity,
    pub(crate) batch_max: usize,
    /// How long a transaction may take in more commands.
    pub(crate) batch_time_max: Duration,
    /// Where the log stands, for everybody who waits for something new.
    pub(crate) head: Arc<watch::Sender<Seq>>,
    /// Why the writer gave up, once it has.
    pub(crate) gave_up: Arc<watch::Sender<Option<Error>>>,
    /// Set when a stop has taken too long: what still waits is answered unheard.
    pub(crate) hurry: Arc<AtomicBool>,
}

/// How a transaction ended that was not committed.
enum Lost {
    /// Another server won or the connection went away: nothing stands, it may be tried again.
    Again(StoreError),
    /// The transaction vanished under the batch: nothing stands, each command is tried alone.
    Vanished(StoreError),
    /// It could not even begin.
    NotBegun(StoreError),
    /// Other servers kept winning.
    Outrun(StoreError),
    /// The database went away at COMMIT: it stands or it does not.
    Unknown(StoreError),
    /// Nothing may be written any more.
    Fatal(Error),
}

/// What the commands of a transaction have in common.
struct Running {
    now: Now,
    reading: Reading,
    tip: Tip,
    /// Where the log stood when the transaction began.
    begun: Seq,
    dirty: bool,
    /// What the commands said. FTS5 flushes at every savepoint, so it is indexed after the last.
    words: Vec<Indexing>,
}

impl Writer {
    /// Works until the queue is closed and empty, or until nothing may be written any more.
    ///
    /// Hands back the connection, to be closed last: who closes a SQLite file last merges its
    /// write-ahead log, and a reader cannot.
    pub(crate) fn run(mut self) -> Box<dyn WriteEngine> {
        // A panic outside a command leaves a state nobody has thought through: stop at once.
        let worked = catch_unwind(AssertUnwindSafe(|| self.work()));
        if worked.is_err() {
            tracing::error!("the writer panicked outside a command; the process ends");
            std::process::abort();
        }
        self.engine
    }

    fn work(&mut self) {
        while self.gave_up.borrow().is_none() && !self.hurry.load(Ordering::Relaxed) {
            match self.queue.next(IDLE) {
                Next::Job(job) => {
                    // Pausing here lets a test fill the queue and so shape the batch.
                    let _ = self.ambient.failpoints.hit("writer.before_batch");
                    self.batch(job);
                }
                Next::Idle => {
                    let tidied = self.engine.idle();
                    self.judge_tidying(tidied);
                }
                Next::Stopped => return,
            }
        }
        self.queue.close();
        while let Some(mut job) = self.queue.try_next() {
            job.fail(Error::Busy {
                reason: "the kernel stops".to_owned(),
            });
            job.answer(&self.ambient);
        }
    }

    fn batch(&mut self, first: Box<dyn Job>) {
        let mut jobs = vec![first];
        match self.with_retries(&mut jobs, Fill::FromQueue) {
            Ok(()) => self.answer(jobs),
            Err(Lost::Vanished(error)) if jobs.len() > 1 => {
                tracing::warn!(error = %with_causes(&error), commands = jobs.len(), "a batch was lost; its commands run one by one");
                self.one_by_one(jobs);
            }
            Err(lost) => self.fail(jobs, lost),
        }
        if self.gave_up.borrow().is_none() {
            let tidied = self.engine.after_commit();
            self.judge_tidying(tidied);
        }
    }

    /// Runs each command in a transaction of its own.
    fn one_by_one(&mut self, jobs: Vec<Box<dyn Job>>) {
        let mut jobs = jobs.into_iter();
        while let Some(job) = jobs.next() {
            let mut alone = vec![job];
            match self.with_retries(&mut alone, Fill::Nothing) {
                Ok(()) => self.answer(alone),
                // After these there is no transaction for the others either (A11).
                Err(lost @ (Lost::NotBegun(_) | Lost::Fatal(_))) => {
                    alone.extend(jobs);
                    return self.fail(alone, lost);
                }
                Err(lost) => self.fail(alone, lost),
            }
        }
    }

    /// What the engine does for itself harms nobody if it fails, unless the disk failed (A11).
    fn judge_tidying(&self, tidied: Result<(), StoreError>) {
        match tidied {
            Ok(()) => {}
            Err(error @ (StoreError::Io(_) | StoreError::Damaged(_))) => {
                tracing::error!(error = %with_causes(&error), "nothing more is written");
                self.gave_up.send_replace(Some(reason(&fatal(error))));
            }
            Err(error) => {
                tracing::warn!(error = %with_causes(&error), "the engine could not tidy up");
            }
        }
    }

    fn with_retries(&mut self, jobs: &mut Vec<Box<dyn Job>>, fill: Fill) -> Result<(), Lost> {
        let mut fill = fill;
        let mut conflicts = 0;
        let mut lost_since = None;
        loop {
            match self.transaction(jobs, fill) {
                Err(Lost::Again(error @ StoreError::Lost(_))) => {
                    let since = *lost_since.get_or_insert_with(Instant::now);
                    let patience = Duration::from_micros(RECONNECT_US_MAX);
                    if since.elapsed() >= patience || self.hurry.load(Ordering::Relaxed) {
                        return Err(Lost::NotBegun(error));
                    }
                    std::thread::sleep(RECONNECT_PAUSE);
                }
                Err(Lost::Again(error)) => {
                    conflicts += 1;
                    if conflicts >= BATCH_RETRIES_MAX {
                        return Err(Lost::Outrun(error));
                    }
                }
                ended => return ended,
            }
            fill = Fill::Nothing;
        }
    }

    /// Runs the jobs, and what else waits if `fill` says so, in one transaction.
    fn transaction(&mut self, jobs: &mut Vec<Box<dyn Job>>, fill: Fill) -> Result<(), Lost> {
        let head = self.begin()?;
        let reading = self.ambient.clock.read(head.server_us);
        let mut running = Running {
            now: Now {
                at: reading.wall,
                lease: reading.lease(&head),
            },
            reading,
            tip: Tip {
                seq: head.seq,
                hash: head.hash,
            },
            begun: head.seq,
            dirty: false,
            words: Vec::new(),
        };
        let ran = self.run_jobs(jobs, fill, &mut running);
        let ended = ran.and_then(|()| self.end(&running));
        if ended.is_err() {
            self.engine.rollback();
        }
        ended
    }

    fn begin(&mut self) -> Result<Head, Lost> {
        let head = self.engine.begin().map_err(|error| match error {
            StoreError::Conflict(_) | StoreError::Lost(_) => Lost::Again(error),
            StoreError::Io(_) | StoreError::Damaged(_) => Lost::Fatal(fatal(error)),
            error => Lost::NotBegun(error),
        })?;
        if head.schema == self.identity.schema && head.epoch == self.identity.epoch {
            return Ok(head);
        }
        self.engine.rollback();
        Err(Lost::Fatal(if head.schema == self.identity.schema {
            Error::Unusable {
                what: "the database was replaced by another one while it was served".to_owned(),
            }
        } else {
            Error::DatabaseNewer {
                found: head.schema,
                known: self.identity.schema,
            }
        }))
    }

    fn run_jobs(
        &mut self,
        jobs: &mut Vec<Box<dyn Job>>,
        fill: Fill,
        running: &mut Running,
    ) -> Result<(), Lost> {
        let started = Instant::now();
        let mut next = 0;
        loop {
            if next == jobs.len() {
                let complete = next >= self.batch_max || started.elapsed() >= self.batch_time_max;
                match fill {
                    Fill::FromQueue if !complete => match self.queue.try_next() {
                        Some(job) => jobs.push(job),
                        None => return Ok(()),
                    },
                    Fill::FromQueue | Fill::Nothing => return Ok(()),
                }
            }
            let Some(job) = jobs.get_mut(next) else {
                return Ok(());
            };
            self.run_one(&mut **job, running)?;
            next += 1;
        }
    }

    /// Runs one command in its savepoint; it stands, or it alone is undone.
    fn run_one(&mut self, job: &mut dyn Job, running: &mut Running) -> Result<(), Lost> {
        self.engine.savepoint().map_err(after_rollback)?;
        let mut batch = Batch {
            session: &mut *self.engine,
            ambient: &self.ambient,
            memory: &self.memory,
            now: running.now,
            tip: running.tip,
            begun: running.begun,
            broken: None,
            dirty: running.dirty,
            words: Vec::new(),
        };
        let ended = catch_unwind(AssertUnwindSafe(|| job.attempt(&mut batch)));
        let (tip, dirty, broken) = (batch.tip, batch.dirty, batch.broken.take());
        let mut words = std::mem::take(&mut batch.words);
        let error = match (ended, broken) {
            (Ok(Kept::Yes), None) => match self.engine.release() {
                Ok(()) => {
                    (running.tip, running.dirty) = (tip, dirty);
                    running.words.append(&mut words);
                    return Ok(());
                }
                Err(error) => Some(error),
            },
            (Ok(_), broken) => broken,
            (Err(_), broken) => {
                let panicked = Impossible("the command panicked");
                job.fail(Error::internal(panicked));
                broken
            }
        };
        self.undo(job, error)
    }

    fn undo(&mut self, job: &mut dyn Job, error: Option<StoreError>) -> Result<(), Lost> {
        match error {
            Some(error @ (StoreError::Conflict(_) | StoreError::Lost(_))) => {
                return Err(Lost::Again(error));
            }
            Some(error @ (StoreError::Io(_) | StoreError::Damaged(_))) => {
                return Err(Lost::Fatal(fatal(error)));
            }
            Some(error) => {
                job.fail(error.clone().into());
                if !self.engine.in_transaction() {
                    return Err(Lost::Vanished(error));
                }
            }
            None => {}
        }
        self.engine.undo().map_err(after_rollback)
    }

    /// Moves the head and commits; without anything written there is nothing to commit.
    fn end(&mut self, running: &Running) -> Result<(), Lost> {
        if !running.dirty {
            self.engine.rollback();
            return Ok(());
        }
        self.index(&running.words).map_err(after_rollback)?;
        self.ambient
            .failpoints
            .hit("writer.before_commit")
            .and_then(|()| {
                move_head(
                    &mut *self.engine,
                    running.tip.seq,
                    &running.tip.hash,
                    running.now.lease,
                    running.reading.tick_us,
                    &running.reading.tick_of,
                )
            })
            .map_err(after_rollback)?;
        match self.engine.commit(running.tip.seq) {
            Ok(()) => {}
            Err(CommitError::RolledBack(error)) => return Err(after_rollback(error)),
            Err(CommitError::Indeterminate(error @ StoreError::Lost(_))) => {
                return Err(Lost::Unknown(error));
            }
            Err(CommitError::Indeterminate(error)) => return Err(Lost::Fatal(fatal(error))),
        }
        // The commands stand from here on; a failure here must not be told as one of theirs.
        let _ = self.ambient.failpoints.hit("writer.before_ack");
        publish(&self.head, running.tip.seq);
        Ok(())
    }

    fn index(&mut self, words: &[Indexing]) -> Result<(), StoreError> {
        words
            .iter()
            .try_for_each(|words| words.write(&mut *self.engine))
    }

    fn answer(&self, jobs: Vec<Box<dyn Job>>) {
        for job in jobs {
            job.answer(&self.ambient);
        }
    }

    /// Tells everybody in a lost batch that nothing of it stands, or that nobody knows.
    fn fail(&mut self, mut jobs: Vec<Box<dyn Job>>, lost: Lost) {
        let error: Error = match lost {
            Lost::Again(error) | Lost::Vanished(error) | Lost::Outrun(error) => {
                tracing::warn!(error = %with_causes(&error), commands = jobs.len(), "a batch was lost");
                error.into()
            }
            Lost::NotBegun(error) => {
                tracing::warn!(error = %with_causes(&error), "no transaction can begin");
                // Nor can one for those who wait behind: they are told now, not one by one.
                let behind = std::iter::from_fn(|| self.queue.try_next());
                jobs.extend(behind.take(self.batch_max));
                error.into()
            }
            Lost::Unknown(error) => {
                tracing::error!(error = %with_causes(&error), "the database went away at commit");
                Error::Indeterminate
            }
            Lost::Fatal(error) => {
                tracing::error!(error = %error, "nothing more is written");
                self.gave_up.send_replace(Some(reason(&error)));
                error
            }
        };
        for mut job in jobs {
            job.fail(error.clone());
            job.answer(&self.ambient);
        }
    }
}

/// What callers are told when nothing may be written any more: of a failed disk nobody knows what
/// it holds.
fn fatal(error: StoreError) -> Error {
    match error {
        StoreError::Io(_) => Error::Indeterminate,
        error => error.into(),
    }
}

/// Says why the writer gave up; to its callers a failed disk means that nobody knows.
fn reason(error: &Error) -> Error {
    match error {
        Error::Indeterminate => Error::Unusable {
            what: "the disk failed; nothing is written until the next start".to_owned(),
        },
        error => error.clone(),
    }
}

/// Whether a transaction takes more commands from the queue.
#[derive(Clone, Copy)]
enum Fill {
    FromQueue,
    Nothing,
}

/// What a transaction that was rolled back at its end means for its commands.
fn after_rollback(error: StoreError) -> Lost {
    match error {
        StoreError::Conflict(_) | StoreError::Lost(_) => Lost::Again(error),
        StoreError::Io(_) | StoreError::Damaged(_) => Lost::Fatal(fatal(error)),
        error => Lost::Vanished(error),
    }
}
