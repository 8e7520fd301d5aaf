//! Reader threads: a fixed number, each with a read-only connection and one snapshot at a time.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::job::ReadJob;
use super::queue::{Next, Queue};
use super::{ReadEngine, StoreError};
use crate::ambient::{Ambient, Now};
use crate::error::{Error, Impossible};
use crate::memory::Memory;
use crate::tx::{Snapshot, Tip};

/// The queue before the readers.
pub(crate) type ReadQueue = Queue<Box<dyn ReadJob>>;

/// Starts one thread per connection.
pub(crate) fn start(
    engines: Vec<Box<dyn ReadEngine>>,
    queue: &Arc<ReadQueue>,
    ambient: &Ambient,
    memory: &Arc<Memory>,
    hurry: &Arc<AtomicBool>,
) -> std::io::Result<Vec<JoinHandle<()>>> {
    let start_one = |(at, engine)| {
        let mut reader = Reader {
            engine,
            ambient: ambient.clone(),
            memory: Arc::clone(memory),
        };
        let (queue, hurry) = (Arc::clone(queue), Arc::clone(hurry));
        std::thread::Builder::new()
            .name(format!("reader-{at}"))
            .spawn(move || {
                loop {
                    match queue.next(Duration::from_mins(1)) {
                        Next::Job(job) if hurry.load(Ordering::Relaxed) => reader.refuse(job),
                        Next::Job(job) => reader.run(job),
                        Next::Idle => {}
                        Next::Stopped => return,
                    }
                }
            })
    };
    engines.into_iter().enumerate().map(start_one).collect()
}

struct Reader {
    engine: Box<dyn ReadEngine>,
    ambient: Ambient,
    memory: Arc<Memory>,
}

impl Reader {
    fn run(&mut self, mut job: Box<dyn ReadJob>) {
        // A connection that was lost while idle is found out here; the second try has a new one.
        let mut ended = self.attempt(&mut *job);
        if let Err(StoreError::Lost(_)) = ended {
            ended = self.attempt(&mut *job);
        }
        if let Err(error) = ended {
            job.fail(error.into());
        }
        job.answer(&self.ambient);
    }

    /// Answers unheard: a stop has taken too long.
    fn refuse(&self, mut job: Box<dyn ReadJob>) {
        job.fail(Error::Busy {
            reason: "the kernel stops".to_owned(),
        });
        job.answer(&self.ambient);
    }

    fn attempt(&mut self, job: &mut dyn ReadJob) -> Result<(), StoreError> {
        let head = self.engine.begin()?;
        let reading = self.ambient.clock.read(head.server_us);
        let now = Now {
            at: reading.wall,
            lease: reading.lease(&head),
        };
        let tip = Tip {
            seq: head.seq,
            hash: head.hash,
        };
        let mut snapshot = Snapshot::new(&mut *self.engine, &self.memory, now, tip);
        let ended = catch_unwind(AssertUnwindSafe(|| job.attempt(&mut snapshot)));
        if ended.is_err() {
            job.fail(Error::internal(Impossible("the query panicked")));
        }
        self.engine.end();
        Ok(())
    }
}
