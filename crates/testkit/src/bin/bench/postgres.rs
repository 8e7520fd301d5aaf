//! Durable commands on PostgreSQL: their rate, and how often each waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use comity_domain::limits::BATCH_MAX_POSTGRES;
use comity_kernel::store::recording::Transaction;
use comity_kernel::store::{PostgresTarget, drop_schema};
use comity_kernel::{Actor, Kernel, Options};

use crate::Wanted;
use crate::base::{self, CALLERS, agents, record};
use crate::commit::per_second;
use crate::hand_postgres::{Hand, Wait};
use crate::hand_sqlite::end_of;
use crate::load::{run_all, run_each, runtime};
use crate::pairs::{Pairs, REPETITIONS, Series};
use crate::row::{Row, Target};

/// Commands of one run with many callers.
const MANY: usize = 6_000;
/// Commands of one run with one caller.
const FEW: usize = 500;
/// Commands before it is the other's turn.
const TURN: usize = 5 * BATCH_MAX_POSTGRES;

/// 64 callers that register agents, against the same statements pipelined by hand.
pub(crate) fn concurrent(_: &Wanted) -> Vec<Row> {
    let recorded = Schema::new();
    let script = record(recorded.options(), &recorded.callers, &agents(MANY));
    drop(recorded);
    let runs: Vec<_> = (0..REPETITIONS).map(|_| rates(&script)).collect();
    let pairs = |floor: usize| {
        let of = |which: usize| runs.iter().map(|run| run[which]).collect();
        Pairs::new(of(0), of(floor))
    };
    let note = |what| {
        format!(
            "{MANY} agents registered by {CALLERS} callers; PostgreSQL over a Unix socket; the \
             floor is the same statements in transactions of {BATCH_MAX_POSTGRES}, {what}"
        )
    };
    let all = note("all pipelined, as only a replay can that knows what it will read");
    let writes = note("writes pipelined, rows waited for");
    let half = Target::AtLeast(0.5);
    vec![
        Row::compared("commit_postgres", "/s", &pairs(1), half, all),
        Row::compared("commit_postgres_waiting", "/s", &pairs(2), half, writes),
    ]
}

/// Measures the kernel, the floor that waits for nothing, and the one that waits for rows.
fn rates(script: &[Transaction]) -> [f64; 3] {
    let schemas = [Schema::new(), Schema::new(), Schema::new()];
    let [ours, eager, patient] = &schemas;
    let kernel = Arc::new(Kernel::open(ours.options()).expect("the kernel opens"));
    let runtime = runtime();
    let open = |schema: &Schema| runtime.block_on(Hand::open(&schema.server, &schema.name, script));
    let hands = [
        (open(eager), Wait::ForNothing),
        (open(patient), Wait::ForRows),
    ];
    let (mut commands, mut took) = (agents(MANY), [Duration::ZERO; 3]);
    for turn in script.chunks(TURN) {
        let rest = commands.split_off(turn.len());
        took[0] += run_all(&kernel, &ours.callers, commands);
        commands = rest;
        for ((hand, wait), took) in hands.iter().zip(&mut took[1..]) {
            let started = Instant::now();
            for transaction in turn.chunks(BATCH_MAX_POSTGRES) {
                let done = runtime.block_on(hand.together(transaction, *wait));
                done.expect("the statements are good");
            }
            *took += started.elapsed();
        }
    }
    for (hand, _) in &hands {
        assert_eq!(runtime.block_on(hand.head()), end_of(script));
    }
    took.map(|took| per_second(MANY, took))
}

/// How often one caller's command waits for the answers to writes.
pub(crate) fn round_trips(_: &Wanted) -> Vec<Row> {
    let mut reading = 0.0;
    let waits = Series::measure(|| {
        let schema = Schema::new();
        let kernel = Kernel::open(schema.options()).expect("the kernel opens");
        let trips = kernel.round_trips().expect("there is a server");
        let count = |waits: &AtomicU64| waits.load(Ordering::Relaxed);
        // The first command also prepares its statements.
        run_each(&kernel, &schema.callers, agents(1));
        let before = (count(&trips.writing), count(&trips.reading));
        let rest = agents(FEW).split_off(1);
        let commands = f64::from(u32::try_from(rest.len()).expect("few"));
        run_each(&kernel, &schema.callers, rest);
        let per_command = |after: u64, before: u64| {
            f64::from(u32::try_from(after - before).expect("few")) / commands
        };
        reading = per_command(count(&trips.reading), before.1);
        per_command(count(&trips.writing), before.0)
    });
    let note = format!("waits for writes per command, one caller; {reading:.1} more for rows");
    let target = Target::AtMost(2.0);
    vec![Row::absolute(
        "round_trips_postgres",
        "waits",
        &waits,
        target,
        note,
    )]
}

/// A base in a schema of its own, dropped when it is no longer used.
struct Schema {
    server: String,
    name: String,
    callers: Vec<Actor>,
}

impl Schema {
    fn new() -> Self {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let server = std::env::var("COMITY_TEST_POSTGRES")
            .expect("COMITY_TEST_POSTGRES names a PostgreSQL server; `scripts/bench` starts one");
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let mut schema = Self {
            server,
            name: format!("bench{}_{number}", std::process::id()),
            callers: Vec::new(),
        };
        schema.callers = base::make(schema.options());
        schema
    }

    fn url(&self) -> String {
        let joint = if self.server.contains('?') { '&' } else { '?' };
        format!("{}{joint}schema={}", self.server, self.name)
    }

    fn options(&self) -> Options {
        Options::postgres(&self.url()).expect("a PostgreSQL URL")
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        let target = PostgresTarget::parse(&self.url()).expect("the schema's URL");
        drop_schema(&target).expect("the schema can be dropped");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The floor is the kernel's own work: what it leaves behind passes the doctor.
    #[test]
    fn the_recorded_statements_issued_by_hand_leave_a_sound_database() {
        let recorded = Schema::new();
        let script = record(recorded.options(), &recorded.callers, &agents(130));
        for wait in [Wait::ForNothing, Wait::ForRows] {
            let schema = Schema::new();
            let head = runtime().block_on(async {
                let hand = Hand::open(&schema.server, &schema.name, &script).await;
                for transaction in script.chunks(BATCH_MAX_POSTGRES) {
                    hand.together(transaction, wait).await.unwrap();
                }
                hand.head().await
            });
            assert_eq!(head, end_of(&script));
            let scratch = tempfile::tempdir().unwrap();
            let kernel = Kernel::open(schema.options()).unwrap();
            let findings = kernel.doctor(scratch.path()).unwrap();
            assert!(findings.ok, "{findings:#?}");
        }
    }
}
