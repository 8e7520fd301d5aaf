//! Runs and dispatches: what a gate costs, and what a long queue costs whoever claims from it.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use comity_kernel::dispatch::{ClaimDispatch, CreateDispatch, FinishDispatch};
use comity_kernel::run::{AddArtifact, AdvanceRun, CreateRun};
use comity_kernel::{Actor, Command, Kernel, Options};
use comity_testkit::kit::request;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::Wanted;
use crate::base::{CALLERS, PROJECT, prepare_project};
use crate::commit::{many_callers_after, p50_us};
use crate::load::run_all;
use crate::pairs::Pairs;
use crate::row::{Row, Target};

/// Phases of a run, and runs of each caller.
const PHASES: usize = 64;
const RUNS: usize = 2;
/// Queued dispatches of the long and the short queue, and how many of a run.
const LONG: usize = 100_000;
const SHORT: usize = 100;
const PER_RUN: usize = 1_000;
/// Claims of one repetition.
const CLAIMS: usize = 400;

/// A run whose every step has five checks.
fn gated_run(n: usize) -> CreateRun {
    let phases: Vec<String> = (0..PHASES).map(|phase| format!("p{phase}")).collect();
    let checks = json!([
        { "check": "artifact_exists", "phase": "p0" },
        { "check": "agents_complete" },
        { "check": "dispatches_settled" },
        { "check": "children_at_phase", "phase": "p1" },
        { "check": "budget_not_exceeded" },
    ]);
    let steps = phases.iter().zip(phases.iter().skip(1));
    let gates: serde_json::Map<String, Value> = steps
        .map(|(from, to)| (format!("{from}->{to}"), checks.clone()))
        .collect();
    request(&json!({
        "project": PROJECT, "goal": format!("run {n}"), "phases": phases, "gates": gates,
        "token_budget": 1_000_000,
    }))
}

/// Creates the runs and what their gates look for.
fn prepare(kernel: &Kernel) {
    for n in 1..=CALLERS * RUNS {
        done(kernel, gated_run(n));
        let artifact: AddArtifact =
            request(&json!({ "run": n, "phase": "p0", "kind": "plan", "path": "plan.md" }));
        done(kernel, artifact);
    }
}

fn done<C: Command>(kernel: &Kernel, command: C) -> C::Answer {
    let ticket = kernel.execute(Actor::OPERATOR.into(), command);
    ticket.wait().expect("the operator may").answer
}

/// Each caller takes its runs from their first phase to their last.
fn advances(count: usize) -> Vec<AdvanceRun> {
    let advance = |nth: usize| {
        let (caller, step) = (nth % CALLERS, nth / CALLERS);
        let run = 1 + caller * RUNS + step / (PHASES - 1);
        request(&json!({ "run": run }))
    };
    (0..count).map(advance).collect()
}

/// 64 callers that advance runs through gates of five checks.
pub(crate) fn advance(wanted: &Wanted) -> Vec<Row> {
    let count = CALLERS * RUNS * (PHASES - 1);
    let pairs = many_callers_after(wanted, count, prepare, advances);
    let note = format!(
        "{count} advances through gates of five checks by {CALLERS} callers; SQLite; the floor is \
         the same statements in transactions of {CALLERS}"
    );
    let target = Target::AtLeast(0.5);
    vec![Row::compared("run_advance", "/s", &pairs, target, note)]
}

/// A kernel with so many queued dispatches.
struct Queued {
    kernel: Arc<Kernel>,
    runs: usize,
    made: usize,
    _data: TempDir,
}

impl Queued {
    fn new(directory: &Path, dispatches: usize) -> Self {
        let data = TempDir::new_in(directory).expect("a directory");
        let options = Options::sqlite(data.path().join("queue.db"));
        let kernel = Arc::new(Kernel::open(options).expect("the kernel opens"));
        prepare_project(&kernel);
        let runs = dispatches.div_ceil(PER_RUN);
        for n in 1..=runs {
            done(&kernel, gated_run(n));
        }
        let mut queued = Self {
            kernel,
            runs,
            made: 0,
            _data: data,
        };
        let all = (0..dispatches).map(|_| queued.next()).collect();
        run_all(&queued.kernel, &[const { Actor::OPERATOR }; CALLERS], all);
        queued
    }

    fn next(&mut self) -> CreateDispatch {
        self.made += 1;
        request(&json!({
            "run": 1 + self.made % self.runs, "agent_kind": "worker", "prompt": "do it",
        }))
    }

    /// Claims a dispatch, settles it and queues another; returns how long claiming it took.
    fn claim(&mut self) -> Duration {
        let claim: ClaimDispatch =
            request(&json!({ "project": PROJECT, "agent_kinds": ["worker"] }));
        let started = Instant::now();
        let claimed = done(&self.kernel, claim).dispatch;
        let took = started.elapsed();
        let claimed = claimed.expect("the queue is long");
        let finish: FinishDispatch = request(&json!({
            "id": claimed.id, "fence": claimed.fence, "outcome": "completed",
        }));
        done(&self.kernel, finish);
        let next = self.next();
        done(&self.kernel, next);
        took
    }
}

/// A claim from a long queue, against one from a short one.
pub(crate) fn claim(wanted: &Wanted) -> Vec<Row> {
    let mut long = Queued::new(&wanted.directory, LONG);
    let mut short = Queued::new(&wanted.directory, SHORT);
    let pairs = Pairs::measure(|| {
        let (mut from_long, mut from_short) = (Vec::new(), Vec::new());
        for _ in 0..CLAIMS {
            from_long.push(long.claim());
            from_short.push(short.claim());
        }
        (p50_us(from_long), p50_us(from_short))
    });
    let note = format!("p50 of a durable claim from {LONG} queued dispatches, against {SHORT}");
    let target = Target::AtMost(1.5);
    vec![Row::compared("run_claim", "us", &pairs, target, note)]
}
