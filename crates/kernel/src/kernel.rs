//! The kernel: one writer, some readers, one log.

mod archiving;
mod embedding;
mod telling;
mod tidying;

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use comity_domain::limits::{EMBEDDING_AT_ONCE, PRUNE_PIECES_AT_ONCE, READ_US_MAX, WAIT_US_MAX};
use comity_domain::{Seq, Span, TokenSecret};
use tokio::sync::{Semaphore, watch};

pub use self::embedding::{Making, Step};

use self::tidying::{Probe, Tidy};
use crate::actor::{Actor, Caller};
use crate::ambient::Ambient;
use crate::archive::Archivist;
use crate::checkpoint::{History, IsLeft, PrunePiece};
use crate::command::Command;
use crate::consumer::sweep::{SilentConsumers, SweepConsumers};
use crate::dispatch::due::{DueDispatches, SweepDispatches};
use crate::doctor::{self, Findings, surroundings};
use crate::error::Error;
use crate::line::{self, Line, Patient, Surroundings};
use crate::memory::Memory;
use crate::options::{Database, Opened, Options};

use crate::presence::Urgency;
use crate::query::Query;
use crate::reservation::sweep::{Due, Sweep};
use crate::state::due::{DueState, SweepState};
use crate::store::job::{Answered, Audience, CommandJob, Job, QueryJob, Upkeep, UpkeepJob};
use crate::store::queue::{Full, Queue};
use crate::store::readers::{self, ReadQueue};
use crate::store::writer::{Identity, Writer};
use crate::store::{RoundTrips, WriteEngine};
use crate::ticket::{AsOf, Reply, Ticket};
use crate::token::Authenticate;

/// How long a stop may take before what still waits is answered unheard (B8).
const STOP_PATIENCE: Duration = Duration::from_millis(2_500);

/// How soon after a change somebody who waits looks again.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// How long somebody who waits rests when the readers are busy.
const REST: Duration = Duration::from_millis(50);

/// A running kernel; dropping it stops it.
pub struct Kernel {
    queue: Arc<Queue<Box<dyn Job>>>,
    reads: Arc<ReadQueue>,
    ambient: Ambient,
    memory: Arc<Memory>,
    database: Database,
    head: watch::Receiver<Seq>,
    gave_up: watch::Receiver<Option<Error>>,
    gave_up_sender: Arc<watch::Sender<Option<Error>>>,
    hurry: Arc<AtomicBool>,
    /// What of presence is written at the end.
    at_the_end: Urgency,
    running: Mutex<Option<Running>>,
    identity: Identity,
    round_trips: Option<Arc<RoundTrips>>,
    backups: Option<PathBuf>,
    exports: Option<PathBuf>,
    /// What has the part of the log that was pruned, if there is one.
    history: Option<Arc<dyn History>>,
    /// Turns true when nobody should wait any longer.
    ending: watch::Sender<bool>,
    /// Who writes the archive, if somebody does.
    archivist: Mutex<Option<Arc<dyn Archivist>>>,
    /// Those who wait for leases or for work.
    line: Line,
    /// The turn of whoever examines or copies everything.
    long_work: Arc<Mutex<()>>,
    /// The places of those who ask for a vector.
    embedding: Arc<Semaphore>,
}

/// What ends with the kernel.
struct Running {
    writer_done: mpsc::Receiver<Box<dyn WriteEngine>>,
    threads: Vec<JoinHandle<()>>,
    follower: Option<crate::follow::Follower>,
}

impl Kernel {
    /// Opens a database, making or upgrading it, checks it, and starts the threads.
    pub fn open(options: Options) -> Result<Self, Error> {
        let opened = Opened::new(&options)?;
        let (head_sender, head) = watch::channel(opened.head.seq);
        let head_sender = Arc::new(head_sender);
        let (gave_up_sender, gave_up) = watch::channel(None);
        let gave_up_sender = Arc::new(gave_up_sender);
        let queue = Arc::new(Queue::new(options.queue_max, options.queue_per_caller_max));
        let reads = Arc::new(Queue::new(options.read_queue_max, options.read_queue_max));
        let memory = Arc::new(Memory::new(&options));
        let hurry = Arc::new(AtomicBool::new(false));
        let identity = Identity {
            epoch: opened.head.epoch.clone(),
            schema: opened.head.schema,
        };
        // Before the threads: what fails from here on must not leave one running.
        let follower = crate::follow::Follower::start(&options, Arc::clone(&head_sender))?;
        let writer = Writer {
            engine: opened.writer,
            queue: Arc::clone(&queue),
            ambient: options.ambient.clone(),
            memory: Arc::clone(&memory),
            identity: identity.clone(),
            batch_max: options.batch_max,
            batch_time_max: Duration::from_micros(options.batch_us_max),
            head: Arc::clone(&head_sender),
            gave_up: Arc::clone(&gave_up_sender),
            hurry: Arc::clone(&hurry),
        };
        let (done, writer_done) = mpsc::channel();
        let unusable = |error| Error::Unusable {
            what: format!("a thread cannot be started: {error}"),
        };
        let mut threads = readers::start(opened.readers, &reads, &options.ambient, &memory, &hurry)
            .map_err(unusable)?;
        let writer = std::thread::Builder::new()
            .name("writer".to_owned())
            .spawn(move || {
                // Whoever waits for the end may be gone; the connection then closes here.
                let _ = done.send(writer.run());
            })
            .map_err(unusable)?;
        threads.push(writer);
        Ok(Self {
            queue,
            reads,
            ambient: options.ambient,
            memory,
            database: options.database,
            head,
            gave_up,
            gave_up_sender,
            hurry,
            at_the_end: Urgency::at_the_end(options.sharing),
            running: Mutex::new(Some(Running {
                writer_done,
                threads,
                follower,
            })),
            identity,
            round_trips: opened.round_trips,
            backups: options.backups,
            exports: options.exports,
            history: options.history,
            ending: watch::Sender::new(false),
            archivist: Mutex::default(),
            line: Line::default(),
            long_work: Arc::default(),
            embedding: Arc::new(Semaphore::new(EMBEDDING_AT_ONCE)),
        })
    }

    /// Hands a command to the writer; the ticket is answered after COMMIT.
    pub fn execute<C: Command>(&self, caller: Caller, mut command: C) -> Ticket<Reply<C::Answer>> {
        self.embed_now(command.embeds());
        submit(&self.queue, &self.ambient, caller, command, Audience::Any)
    }

    /// Hands a command to the writer, again and again while others hold what it wants, as long as
    /// its caller is patient.
    pub fn execute_patiently<C: Patient>(
        &self,
        caller: Caller,
        command: C,
    ) -> impl Future<Output = Result<Reply<C::Answer>, Error>> + Send + use<C> {
        let patience_us = command.patience().map_or(0, Span::micros);
        let (queue, reads) = (Arc::clone(&self.queue), Arc::clone(&self.reads));
        let (line, ambient) = (self.line.clone(), self.ambient.clone());
        let quiet = self.ambient.clone();
        let (head, ending) = (self.head.clone(), self.ending.subscribe());
        async move {
            if patience_us > WAIT_US_MAX {
                return Err(Error::invalid("wait", "must be at most 60 s"));
            }
            if patience_us == 0 {
                return submit(&queue, &ambient, caller, command, Audience::Any).await;
            }
            let (actor, claim) = (caller.actor.clone(), command.claim());
            let (looker, sight) = (Arc::clone(&reads), ambient.clone());
            let (asker, wish) = (caller.actor.clone(), command.clone());
            let around = Surroundings {
                answered: answered(&reads, &ambient, &caller, &command),
                attempt: Box::new(move |mark| {
                    let (caller, command) = (caller.clone(), command.clone());
                    let audience = Audience::Present { mark };
                    Box::pin(submit(&queue, &ambient, caller, command, audience))
                }),
                is_in_vain: |reply| C::is_in_vain(&reply.answer),
                look: Box::new(move || {
                    let read = ask(&looker, &sight, asker.clone(), wish.look());
                    Box::pin(async move { Ok(read.await?.answer.into()) })
                }),
                last_let_go: Box::new(move |query| {
                    let read = ask(&reads, &quiet, Actor::System, query);
                    Box::pin(async move {
                        let read = read.await?;
                        Ok((read.as_of_seq, read.answer))
                    })
                }),
                head,
                ending,
            };
            let patience = Duration::from_micros(patience_us.unsigned_abs());
            line::wait_in(line, &actor, claim, patience, around).await
        }
    }

    /// Writes down which leases and which state have expired, which claims were lost, which deadlines
    /// have passed and which consumers are gone, if any; and removes what was pruned.
    pub async fn sweep(&self) -> Result<(), Error> {
        while self.query(Actor::System, Due).await?.answer {
            let swept = self.execute(Actor::System.into(), Sweep).await?;
            if !swept.answer.more {
                break;
            }
        }
        while self.query(Actor::System, DueDispatches).await?.answer {
            let swept = self.execute(Actor::System.into(), SweepDispatches).await?;
            if !swept.answer.more {
                break;
            }
        }
        while self.query(Actor::System, DueState).await?.answer {
            let swept = self.execute(Actor::System.into(), SweepState).await?;
            if !swept.answer.more {
                break;
            }
        }
        while self.query(Actor::System, SilentConsumers).await?.answer {
            let swept = self.execute(Actor::System.into(), SweepConsumers).await?;
            if !swept.answer.more {
                break;
            }
        }
        // After a crash; whoever prunes does not wait for this. The rest has its turn meanwhile.
        for _ in 0..PRUNE_PIECES_AT_ONCE {
            if !self.query(Actor::System, IsLeft).await?.answer {
                break;
            }
            self.upkeep(PrunePiece).await?;
        }
        Ok(())
    }

    /// Hands a query to a reader.
    pub fn query<Q: Query>(&self, actor: Actor, mut query: Q) -> Ticket<AsOf<Q::Answer>> {
        self.embed_now(query.embeds());
        ask(&self.reads, &self.ambient, actor, query)
    }

    /// Asks again after each change until the answer is something, the patience is at its end, or
    /// the kernel stops.
    pub fn wait_for<Q: Query + Clone + Sync>(
        &self,
        actor: Actor,
        query: Q,
        patience: Duration,
        is_something: fn(&Q::Answer) -> bool,
    ) -> impl Future<Output = Result<AsOf<Q::Answer>, Error>> + Send + use<Q>
    where
        Q::Answer: Send,
    {
        let (reads, ambient) = (Arc::clone(&self.reads), self.ambient.clone());
        let (mut head, mut ending) = (self.head.clone(), self.ending.subscribe());
        async move {
            let end = tokio::time::Instant::now() + patience;
            loop {
                head.borrow_and_update();
                let read = match ask(&reads, &ambient, actor.clone(), query.clone()).await {
                    // Others are many just now; whoever waits anyway can wait a little longer.
                    Err(Error::Busy { .. }) if tokio::time::Instant::now() < end => {
                        tokio::time::sleep(REST).await;
                        continue;
                    }
                    read => read?,
                };
                if is_something(&read.answer) || *ending.borrow() {
                    return Ok(read);
                }
                let over = tokio::select! {
                    changed = head.changed() => changed.is_err(),
                    _ = ending.changed() => true,
                    () = tokio::time::sleep_until(end) => true,
                };
                if over {
                    return Ok(read);
                }
                // Many changes in a moment are looked at together.
                tokio::time::sleep(LOOK_EVERY).await;
            }
        }
    }

    /// Ends all waiting: whoever waits is answered with what there is.
    pub fn end_waits(&self) {
        self.ending.send_replace(true);
    }

    /// Tells who presents a token.
    pub fn authenticate(&self, presented: &str) -> Ticket<AsOf<Actor>> {
        match TokenSecret::parse(presented) {
            Some(secret) => self.query(Actor::System, Authenticate { secret }),
            None => Ticket::answered(Err(Error::Unauthorized)),
        }
    }

    /// Writes what is due of presence, and forgets answers that are too old.
    pub fn tidy(&self) -> Ticket<()> {
        let reading = self.ambient.clock.read(None);
        let flush = self.memory.presence.due(&reading, Urgency::WhenDue);
        self.upkeep(Tidy { flush })
    }

    /// Proves that a write reaches the disk: commits the lease clock's mark and nothing else.
    pub fn probe(&self) -> Ticket<()> {
        self.upkeep(Probe)
    }

    /// Follows the log's end: the number of the last event, and nothing else.
    pub fn head(&self) -> watch::Receiver<Seq> {
        self.head.clone()
    }

    /// Counts the commands and the queries that wait.
    pub fn waiting(&self) -> (usize, usize) {
        (self.queue.waiting(), self.reads.waiting())
    }

    /// Tells why nothing is written any more, once that is so.
    pub fn gave_up(&self) -> watch::Receiver<Option<Error>> {
        self.gave_up.clone()
    }

    /// Returns the random id made with the database.
    pub fn epoch(&self) -> &str {
        &self.identity.epoch
    }

    /// Counts the writer's waits for a database server; `None` where there is none.
    pub fn round_trips(&self) -> Option<&RoundTrips> {
        self.round_trips.as_deref()
    }

    /// Examines the whole database, on a copy where that spares the running one.
    pub fn doctor(&self, scratch: &Path) -> Result<Findings, Error> {
        let name = doctor::scratch_name(&self.ambient);
        let history = self.history.as_deref();
        self.database
            .examine(&scratch.join(name), &self.ambient, history)
    }

    /// Copies the database into a new file, one snapshot of it.
    pub fn backup(&self, target: &Path) -> Result<PathBuf, Error> {
        self.database.backup(target)
    }

    /// Examines the whole database on a thread of its own; one at a time.
    pub fn examine(&self) -> Ticket<Findings> {
        let name = doctor::scratch_name(&self.ambient);
        let (database, ambient) = (self.database.clone(), self.ambient.clone());
        let archivist = self.archivist.lock();
        let archivist = archivist.unwrap_or_else(PoisonError::into_inner).clone();
        let history = self.history.clone();
        self.beside(move |backups| {
            let history = history.as_deref();
            let mut findings = database.examine(&backups.join(name), &ambient, history)?;
            findings.add(surroundings::of(&database, backups));
            if let Some(archivist) = archivist {
                findings.add(vec![surroundings::archive(&*archivist)]);
            }
            Ok(findings)
        })
    }

    /// Copies the database on a thread of its own, into the data directory's `backups` unless
    /// told otherwise; one at a time.
    pub fn copy(&self, to: Option<PathBuf>) -> Ticket<PathBuf> {
        let database = self.database.clone();
        let name = to.unwrap_or_else(|| PathBuf::from("comity.db"));
        self.beside(move |backups| database.backup(&backups.join(name)))
    }

    /// Runs long work on a thread of its own, with the directory for copies.
    fn beside<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Path) -> Result<T, Error> + Send + 'static,
    ) -> Ticket<T> {
        let Some(backups) = self.backups.clone() else {
            return Ticket::answered(Err(Error::Unusable {
                what: "there is no directory for copies".to_owned(),
            }));
        };
        let turn = Arc::clone(&self.long_work);
        on_thread(move || match turn.try_lock() {
            Ok(_turn) => work(&backups),
            Err(_) => Err(Error::Busy {
                reason: "another examination, copy or export runs".to_owned(),
            }),
        })
    }

    /// Runs SQLite's own check beside the requests; damage stops all writing (A12).
    pub fn check_in_background(&self) {
        let Database::Sqlite(file) = &self.database else {
            return;
        };
        let (file, gave_up) = (file.clone(), self.gave_up_sender.clone());
        let check = move || match file.quick_check() {
            Ok(()) => tracing::info!("the database is sound"),
            Err(error @ Error::Damaged { .. }) => {
                tracing::error!(error = %error, "the database is damaged; nothing more is written");
                gave_up.send_replace(Some(error));
            }
            Err(error) => tracing::warn!(error = %error, "the database could not be checked"),
        };
        // It ends with the process: nothing waits for it and it changes nothing.
        if let Err(error) = std::thread::Builder::new()
            .name("check".to_owned())
            .spawn(check)
        {
            tracing::warn!(error = %error, "the database is not checked");
        }
    }

    /// Answers everybody who waits, writes what is only in memory, and ends the threads.
    ///
    /// Whoever asks afterwards is told `busy`.
    pub fn stop(&self) {
        let running = self
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(running) = running else {
            return;
        };
        self.end_waits();
        let reading = self.ambient.clock.read(None);
        let flush = self.memory.presence.due(&reading, self.at_the_end);
        if !flush.is_empty() {
            // Best effort: presence is off the log, and a lost one counts as now.
            drop(self.upkeep(flush));
        }
        self.queue.close();
        self.reads.close();
        let engine = running.writer_done.recv_timeout(STOP_PATIENCE);
        self.hurry.store(true, Ordering::Relaxed);
        drop(running.follower);
        for thread in running.threads {
            // A reader that panicked has said so; there is nothing left to do about it here.
            let _ = thread.join();
        }
        drop(engine);
    }

    fn upkeep(&self, upkeep: impl Upkeep) -> Ticket<()> {
        keep_up(&self.queue, &self.ambient, upkeep)
    }
}

/// Hands upkeep to the writer.
fn keep_up(queue: &Queue<Box<dyn Job>>, ambient: &Ambient, upkeep: impl Upkeep) -> Ticket<()> {
    let (reply, ticket) = Ticket::new();
    let job = UpkeepJob {
        upkeep,
        reply,
        outcome: Err(Error::Indeterminate),
    };
    let line = Actor::System.credential();
    enqueue(queue, ambient, line, Box::new(job));
    ticket
}

/// Does long work on a thread of its own.
fn on_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Ticket<T> {
    let (answer, ticket) = Ticket::new();
    let run = move || {
        // Whoever asked may be gone.
        let _ = answer.send(work());
    };
    match std::thread::Builder::new()
        .name("beside".to_owned())
        .spawn(run)
    {
        // It answers, and ends by itself.
        Ok(_thread) => ticket,
        Err(error) => Ticket::answered(Err(Error::Busy {
            reason: format!("a thread cannot be started: {error}"),
        })),
    }
}

/// Hands a command to the writer.
fn submit<C: Command>(
    queue: &Queue<Box<dyn Job>>,
    ambient: &Ambient,
    caller: Caller,
    command: C,
    audience: Audience,
) -> Ticket<Reply<C::Answer>> {
    if let Err(error) = caller.actor.must_be_one_of(C::NAME, C::WHO) {
        return Ticket::answered(Err(error));
    }
    command.prepare();
    let line = caller.actor.credential();
    let (reply, ticket) = Ticket::new();
    let job = Box::new(CommandJob::new(caller, command, reply, audience));
    enqueue(queue, ambient, line, job);
    ticket
}

/// Makes the question whether a command was answered already, for a caller with a key.
fn answered<C: Patient>(
    reads: &Arc<ReadQueue>,
    ambient: &Ambient,
    caller: &Caller,
    command: &C,
) -> line::Ask<Option<Reply<C::Answer>>> {
    let Some(key) = caller.key.clone() else {
        return Box::new(|| Box::pin(async { Ok(None) }));
    };
    let (reads, ambient) = (Arc::clone(reads), ambient.clone());
    let (actor, command) = (caller.actor.clone(), command.clone());
    Box::new(move || {
        let (key, command) = (key.clone(), command.clone());
        let read = ask(&reads, &ambient, actor.clone(), Answered { key, command });
        Box::pin(async move { Ok(read.await?.answer) })
    })
}

fn enqueue(
    queue: &Queue<Box<dyn Job>>,
    ambient: &Ambient,
    line: crate::actor::Credential,
    job: Box<dyn Job>,
) {
    if let Err((full, mut job)) = queue.push(line, job) {
        job.fail(busy(full));
        job.answer(ambient);
    }
}

/// Hands a query to a reader.
fn ask<Q: Query>(
    reads: &ReadQueue,
    ambient: &Ambient,
    actor: Actor,
    query: Q,
) -> Ticket<AsOf<Q::Answer>> {
    let line = actor.credential();
    let (reply, ticket) = Ticket::new();
    let job = Box::new(QueryJob {
        actor,
        query,
        reply,
        outcome: Err(busy(Full::Closed)),
    });
    if let Err((full, mut job)) = reads.push(line, job as Box<_>) {
        job.fail(busy(full));
        job.answer(ambient);
    }
    ticket
}

impl Drop for Kernel {
    fn drop(&mut self) {
        self.stop();
    }
}

fn busy(full: Full) -> Error {
    let reason = match full {
        Full::Queue => "too many requests wait",
        Full::Caller => "too many requests of this caller wait",
        Full::Closed => "the kernel stops",
    };
    Error::Busy {
        reason: reason.to_owned(),
    }
}

/// How long one read may take.
pub(crate) const READ_MAX: Duration = Duration::from_micros(READ_US_MAX);
