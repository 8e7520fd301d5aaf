//! State: readers beside a busy writer, and the command that prints one value.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use comity_kernel::datadir::DataDir;
use comity_kernel::state::{LoadState, SaveState};
use comity_kernel::{Actor, Kernel, Options};
use comity_testkit::kit::request;
use serde_json::json;
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::Wanted;
use crate::base::{self, CALLERS, PROJECT, QUIET, SqliteBase};
use crate::commit::{p50_us, per_second};
use crate::load::{Busy, run_all, runtime};
use crate::pairs::Pairs;
use crate::row::{Row, Target};

/// Reader threads of the kernel, and callers of them.
const READERS: usize = 4;
/// Keys that are loaded, one after the other.
const KEYS: usize = 500;
/// How long one turn takes, and how many there are.
const TURN: Duration = Duration::from_millis(250);
const TURNS: usize = 8;
/// Commands of one run of the command line, and of the shell beside it.
const COMMANDS: usize = 40;

/// Four callers that load state, with and without 64 callers that keep the writer busy.
pub(crate) fn readers(wanted: &Wanted) -> Vec<Row> {
    let directory = TempDir::new_in(&wanted.directory).expect("a directory");
    let base = SqliteBase::new(directory.path());
    let mut options = Options::sqlite(base.copy("kernel.db"));
    options.readers = READERS;
    let kernel = Arc::new(Kernel::open(options).expect("the kernel opens"));
    run_all(
        &kernel,
        &[Actor::OPERATOR],
        (0..KEYS).map(|nth| save(QUIET, nth)).collect(),
    );
    let number = Arc::new(AtomicUsize::new(0));
    let slowest_us = Arc::new(AtomicU64::new(0));
    let pairs = Pairs::measure(|| {
        let mut answered = [0, 0];
        for _ in 0..TURNS {
            let busy = Busy::start(&kernel, &base.callers, &number);
            answered[0] += read(&kernel, &slowest_us);
            busy.stop();
            answered[1] += read(&kernel, &Arc::default());
        }
        answered
            .map(|loads| per_second(loads, TURN * u32::try_from(TURNS).expect("few")))
            .into()
    });
    let written = number.load(Ordering::Relaxed);
    let worst_ms = Duration::from_micros(slowest_us.load(Ordering::Relaxed)).as_secs_f64() * 1e3;
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let note = format!(
        "{READERS} callers load {KEYS} keys in turn beside {CALLERS} that registered {written} agents; \
         none was told busy, the slowest waited {worst_ms:.1} ms, {cores} cores for all"
    );
    let target = Target::AtLeast(0.7);
    vec![Row::compared("state_readers", "/s", &pairs, target, note)]
}

/// One process that prints a value, against the shell of SQLite that selects it.
pub(crate) fn get(wanted: &Wanted) -> Vec<Row> {
    let directory = TempDir::new_in(&wanted.directory).expect("a directory");
    let data = directory.path().join("data");
    let database = DataDir::open(&data).expect("a data directory").database();
    let callers = base::make(Options::sqlite(&database));
    let kernel = Arc::new(Kernel::open(Options::sqlite(&database)).expect("the kernel opens"));
    run_all(
        &kernel,
        &callers,
        (0..KEYS * 4).map(|nth| save(PROJECT, nth % KEYS)).collect(),
    );
    drop(kernel);
    let mut nth = 0;
    let pairs = Pairs::measure(|| {
        let (mut ours, mut shells) = (Vec::new(), Vec::new());
        for _ in 0..COMMANDS {
            nth = (nth + 7) % KEYS;
            ours.push(timed(&mut comity(&wanted.comity, &data, nth), nth));
            shells.push(timed(&mut shell(&database, nth), nth));
        }
        (p50_us(ours) / 1e3, p50_us(shells) / 1e3)
    });
    let note = "the median from the start of the process to its end; no server runs".to_owned();
    let target = Target::AtMost(2.0);
    vec![Row::compared("state_get_cold", "ms", &pairs, target, note)]
}

fn key(nth: usize) -> String {
    format!("part/{nth}")
}

/// What is saved under a key.
fn value(nth: usize) -> String {
    format!("{{\"nth\":{nth},\"text\":\"{}\"}}", "word ".repeat(40))
}

fn save(project: &str, nth: usize) -> SaveState {
    let value: serde_json::Value = serde_json::from_str(&value(nth)).expect("JSON");
    request(&json!({ "project": project, "scope": "bench", "key": key(nth), "value": value }))
}

/// Returns how many values were loaded in one turn; notes the longest that one took.
fn read(kernel: &Arc<Kernel>, slowest_us: &Arc<AtomicU64>) -> usize {
    let wish = |nth| request(&json!({ "project": QUIET, "scope": "bench", "key": key(nth) }));
    let loads: Arc<[LoadState]> = (0..KEYS).map(wish).collect();
    let started = Instant::now();
    runtime().block_on(async {
        let mut tasks = JoinSet::new();
        for reader in 0..READERS {
            let (kernel, loads) = (Arc::clone(kernel), Arc::clone(&loads));
            let slowest_us = Arc::clone(slowest_us);
            tasks.spawn(async move {
                let mut answered = 0;
                for load in loads.iter().cycle().skip(reader * 61) {
                    let asked = Instant::now();
                    if asked.duration_since(started) >= TURN {
                        break;
                    }
                    let loaded = kernel.query(Actor::OPERATOR, load.clone()).await;
                    assert_eq!(loaded.expect("a value").answer.state.version, 1);
                    let took_us = u64::try_from(asked.elapsed().as_micros()).unwrap_or(u64::MAX);
                    slowest_us.fetch_max(took_us, Ordering::Relaxed);
                    answered += 1;
                }
                answered
            });
        }
        tasks.join_all().await.iter().sum()
    })
}

fn comity(program: &Path, data: &Path, nth: usize) -> Command {
    let mut command = Command::new(program);
    command.arg("--data").arg(data);
    command.args(["--operator", "--project", PROJECT]);
    command.args(["state", "get", "bench", &key(nth)]);
    command
}

fn shell(database: &Path, nth: usize) -> Command {
    let mut command = Command::new("sqlite3");
    let select = format!(
        "select e.value from project p join state_scope s on s.project_id = p.id
         join state_entry e on e.scope_id = s.id
         where p.key = '{PROJECT}' and s.name = 'bench' and e.key = '{}' and e.ended is null",
        key(nth)
    );
    command.arg(database).arg(select);
    command
}

/// Runs a command that prints the value; returns how long it took.
fn timed(command: &mut Command, nth: usize) -> Duration {
    let started = Instant::now();
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output();
    let took = started.elapsed();
    let printed = String::from_utf8(output.expect("it runs").stdout).expect("text");
    assert_eq!(printed.trim_end(), value(nth));
    took
}
