//! Leases under contention: every race both ways round and inside one batch, clocks, restarts,
//! crowds, waiting, and several kernels on one database.
//!
//! Each test's log is judged at its end, with none of the product's own rules (`leases`).
//! `COMITY_LEASE_GRANTS` says how many leases the crowd takes.

use std::future::Future;
use std::time::{Duration, Instant};

use comity_kernel::failpoint::Gate;
use comity_kernel::lock::{AcquireLock, RenewLock};
use comity_kernel::reservation::reserve::ReservedFiles;
use comity_kernel::reservation::{ForceRelease, Release, Renew, Reservation, ReserveFiles};
use comity_kernel::{Actor, Error, Kernel, Reply, Ticket};
use comity_testkit::Kit;
use comity_testkit::kit::request;
use serde_json::json;

mod clocks;
mod crowd;
mod fences;
mod kernels;
mod matrix;
mod storm;
mod waiting;

/// Longer than anything here takes, so that a hang is a failure.
const PATIENCE: Duration = Duration::from_mins(1);

const BEFORE_BATCH: &str = "writer.before_batch";

const SECOND: i64 = 1_000_000;
const HOUR: i64 = 3_600 * SECOND;

/// A kit with a project and agents in it.
fn town<const N: usize>(kit: &Kit) -> [Actor; N] {
    kit.project("/srv/web");
    std::array::from_fn(|n| kit.agent("web", &format!("Agent{n}")).1)
}

/// An exclusive lease on one pattern for so many seconds.
fn reserve(pattern: &str, seconds: i64) -> ReserveFiles {
    request(&json!({ "patterns": [pattern], "ttl": format!("{seconds}s") }))
}

fn shared(pattern: &str, seconds: i64) -> ReserveFiles {
    request(&json!({ "patterns": [pattern], "ttl": format!("{seconds}s"), "mode": "shared" }))
}

fn renew(id: i64, seconds: i64) -> Renew {
    request(&json!({ "ids": [id], "ttl": format!("{seconds}s") }))
}

fn release(id: i64) -> Release {
    request(&json!({ "ids": [id] }))
}

fn force(id: i64) -> ForceRelease {
    request(&json!({ "id": id, "reason": "a test" }))
}

fn lock(name: &str, seconds: i64) -> AcquireLock {
    request(&json!({ "project": "web", "name": name, "ttl": format!("{seconds}s") }))
}

fn renew_lock(name: &str, seconds: i64) -> RenewLock {
    request(&json!({ "project": "web", "name": name, "ttl": format!("{seconds}s") }))
}

/// Takes one lease that nobody is in the way of.
fn held(kit: &Kit, actor: &Actor, command: ReserveFiles) -> Reservation {
    let mut answer = kit.run_as(actor.clone(), command).unwrap().answer;
    answer.reservations.remove(0)
}

/// The word for what came of something.
fn word<T>(answer: &Result<Reply<T>, Error>) -> &'static str {
    match answer {
        Ok(_) => "ok",
        Err(error) => error.code().word,
    }
}

/// Writes down what has expired.
fn sweep(kernel: &Kernel) {
    soon(kernel.sweep()).unwrap();
}

/// Counts events of a kind.
fn count(kit: &Kit, kind: &str) -> i64 {
    let sql = format!("select count(*) from event where kind = '{kind}'");
    kit.shell(&sql).unwrap().parse().unwrap()
}

fn soon<T>(answer: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let answered = runtime.block_on(async { tokio::time::timeout(PATIENCE, answer).await });
    answered.expect("an answer in time")
}

fn until(condition: impl Fn() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < PATIENCE, "it never came true");
        std::thread::yield_now();
    }
}

/// The writer held before a batch, and let go when the test ends, however it ends.
struct Held(Gate);

impl Held {
    fn at_batch(kit: &Kit) -> Self {
        Self(kit.failpoints.pause(BEFORE_BATCH))
    }

    fn reached(&self) {
        self.0.wait_until_hit();
    }

    fn open(&self) {
        self.0.open();
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.open();
    }
}

/// How two commands come one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meeting {
    /// In transactions of their own.
    Apart,
    /// In one batch.
    Together,
}

impl Meeting {
    const BOTH: [Self; 2] = [Self::Apart, Self::Together];

    /// Lets the second follow the first; returns what came of both.
    fn run<A, B>(
        self,
        kit: &Kit,
        first: impl FnOnce() -> Ticket<A>,
        second: impl FnOnce() -> Ticket<B>,
    ) -> (Result<A, Error>, Result<B, Error>) {
        match self {
            Self::Apart => {
                let first = first().wait();
                (first, second().wait())
            }
            Self::Together => {
                let gate = Held::at_batch(kit);
                let first = first();
                gate.reached();
                let second = second();
                gate.open();
                (first.wait(), second.wait())
            }
        }
    }
}

type Reserved = Ticket<Reply<ReservedFiles>>;

fn ask(kit: &Kit, actor: &Actor, command: ReserveFiles) -> Reserved {
    kit.kernel().execute(actor.clone().into(), command)
}
