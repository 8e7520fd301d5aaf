//! Durable commands on SQLite, many callers and one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use comity_kernel::store::recording::Transaction;
use comity_kernel::{Command, Kernel, Options};
use tempfile::TempDir;

use crate::Wanted;
use crate::base::{CALLERS, SqliteBase, agents, record};
use crate::hand_sqlite::{Hand, end_of};
use crate::load::{run_all, run_each};
use crate::pairs::Pairs;
use crate::row::{Row, Target};

/// Commands of one run with many callers.
const MANY: usize = 20_480;
/// Commands of one run with one caller.
const FEW: usize = 2_000;
/// Commands before it is the other's turn, with many callers. A turn is short: a kernel that
/// nobody calls for 200 ms begins to checkpoint.
const TURN: usize = 8 * CALLERS;
/// Commands before it is the other's turn, with one caller.
const SINGLE_TURN: usize = 50;

/// 64 callers that register agents, against the same statements in transactions of 64.
pub(crate) fn concurrent(wanted: &Wanted) -> Vec<Row> {
    let note = format!(
        "{MANY} agents registered by {CALLERS} callers; SQLite, synchronous=FULL; the floor is \
         the same statements in transactions of {CALLERS}"
    );
    let pairs = many_callers(wanted, MANY, agents);
    vec![Row::compared(
        "commit",
        "/s",
        &pairs,
        Target::AtLeast(0.5),
        note,
    )]
}

/// Lets 64 callers run commands of a kind, and issues the same statements by hand.
pub(crate) fn many_callers<C: Command + Clone>(
    wanted: &Wanted,
    count: usize,
    make: fn(usize) -> Vec<C>,
) -> Pairs {
    many_callers_after(wanted, count, |_| {}, make)
}

/// The same, on a base with more in it.
pub(crate) fn many_callers_after<C: Command + Clone>(
    wanted: &Wanted,
    count: usize,
    more: fn(&Kernel),
    make: fn(usize) -> Vec<C>,
) -> Pairs {
    let runs = Runs::after(wanted, more, &make(count));
    Pairs::measure(|| {
        let (kernel, hand) = runs.open();
        let (mut commands, mut took) = (make(count), [Duration::ZERO; 2]);
        for turn in runs.script.chunks(TURN) {
            let rest = commands.split_off(turn.len());
            took[0] += run_all(&kernel, &runs.base.callers, commands);
            commands = rest;
            let started = Instant::now();
            for transaction in turn.chunks(CALLERS) {
                hand.together(transaction).expect("the statements are good");
            }
            took[1] += started.elapsed();
        }
        assert_eq!(hand.head(), end_of(&runs.script));
        (per_second(count, took[0]), per_second(count, took[1]))
    })
}

/// One caller's p50, against that of the same statements in a transaction each.
pub(crate) fn single(wanted: &Wanted) -> Vec<Row> {
    let note = format!("p50 of {FEW} agents registered one after the other; SQLite");
    let pairs = one_caller(wanted, FEW, agents);
    vec![Row::compared(
        "commit_single",
        "us",
        &pairs,
        Target::AtMost(2.0),
        note,
    )]
}

/// Runs commands of a kind one after the other, and issues the same statements by hand.
pub(crate) fn one_caller<C: Command + Clone>(
    wanted: &Wanted,
    count: usize,
    make: fn(usize) -> Vec<C>,
) -> Pairs {
    let runs = Runs::new(wanted, &make(count));
    Pairs::measure(|| {
        let (kernel, hand) = runs.open();
        let (mut commands, mut took) = (make(count), [Vec::new(), Vec::new()]);
        for turn in runs.script.chunks(SINGLE_TURN) {
            let rest = commands.split_off(turn.len());
            took[0].extend(run_each(&kernel, &runs.base.callers, commands));
            commands = rest;
            took[1].extend(turn.iter().map(|transaction| {
                let started = Instant::now();
                let done = hand.together(std::slice::from_ref(transaction));
                done.expect("the statements are good");
                started.elapsed()
            }));
        }
        let [kernel, floor] = took;
        (p50_us(kernel), p50_us(floor))
    })
}

/// What both rows start from; the directory goes with it.
pub(crate) struct Runs {
    pub(crate) base: SqliteBase,
    pub(crate) script: Vec<Transaction>,
    opened: AtomicUsize,
    _directory: TempDir,
}

impl Runs {
    pub(crate) fn new<C: Command + Clone>(wanted: &Wanted, commands: &[C]) -> Self {
        Self::after(wanted, |_| {}, commands)
    }

    /// The same, on a base with more in it.
    fn after<C: Command + Clone>(wanted: &Wanted, more: fn(&Kernel), commands: &[C]) -> Self {
        let directory = TempDir::new_in(&wanted.directory).expect("a directory");
        let base = SqliteBase::new(directory.path());
        base.add(more);
        let recorded = Options::sqlite(base.copy("recorded.db"));
        let script = record(recorded, &base.callers, commands);
        Self {
            base,
            script,
            opened: AtomicUsize::new(0),
            _directory: directory,
        }
    }

    /// Opens a fresh base twice: with the kernel and by hand.
    pub(crate) fn open(&self) -> (Arc<Kernel>, Hand) {
        // Servers of the repetition before may still have theirs open.
        let nth = self.opened.fetch_add(1, Ordering::Relaxed);
        let options = Options::sqlite(self.base.copy(&format!("kernel-{nth}.db")));
        let kernel = Kernel::open(options).expect("the kernel opens");
        let hand = Hand::open(&self.base.copy(&format!("floor-{nth}.db")));
        (Arc::new(kernel), hand)
    }
}

/// Returns how many there were in a second.
pub(crate) fn per_second(count: usize, took: Duration) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    let count = count as f64;
    count / took.as_secs_f64()
}

pub(crate) fn p50_us(mut took: Vec<Duration>) -> f64 {
    took.sort();
    took[took.len() / 2].as_secs_f64() * 1e6
}
