//! Feeds drivers, kills them, and remembers what was answered.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::process::Heard;
use super::{KEEPER, Launch, Ledger, Order, PATIENCE, Process, Target, Workload};

/// Codes that say "not now": the order is repeated under its key.
const REPEATED: [&str; 3] = ["busy", "indeterminate", "storage_full"];

/// An order with its final answer.
#[derive(Clone, Debug)]
pub struct Done {
    /// The order.
    pub order: Order,
    /// The answer, or the code of the refusal.
    pub answer: Result<Value, String>,
}

/// When a driver is killed.
#[derive(Clone, Copy, Debug)]
pub enum Moment {
    /// So long after its start: perhaps while it opens the database.
    AfterStart(Duration),
    /// So long after it gave so many answers: under load, however slow the machine is.
    AfterAnswers(usize, Duration),
}

/// What a campaign came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// How often the driver was killed.
    pub kills: usize,
    /// How many orders were acknowledged.
    pub acknowledged: usize,
    /// How many acknowledged orders are not there.
    pub lost: usize,
    /// How many are there twice.
    pub doubled: usize,
    /// The median time from start to `ready`, in milliseconds.
    pub ready_p50_ms: u128,
    /// The longest.
    pub ready_max_ms: u128,
}

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "crash: {} kills, {} acknowledged, {} lost, {} doubled, ready {}/{} ms",
            self.kills,
            self.acknowledged,
            self.lost,
            self.doubled,
            self.ready_p50_ms,
            self.ready_max_ms
        )
    }
}

/// Callers with their orders, and the database they work on.
pub struct Harness {
    launch: Launch,
    workload: Workload,
    callers: usize,
    /// What each caller has not been answered yet.
    pending: BTreeMap<usize, Order>,
    /// The callers whose order the running driver has.
    waiting: BTreeSet<usize>,
    done: Vec<Done>,
    kills: usize,
    ready: Vec<Duration>,
}

/// How long a driver is fed.
#[derive(Clone, Copy)]
enum Until {
    /// Until it is gone.
    Gone,
    /// Until this moment.
    Instant(Instant),
    /// Until this many orders are done.
    Done(usize),
    /// Until nothing is pending; nothing new is ordered.
    Settled,
}

impl Harness {
    /// Prepares callers for a database that does not exist yet.
    pub fn new(driver: &str, target: Target, seed: u64, callers: usize) -> Self {
        Self {
            launch: Launch::new(driver, target),
            workload: Workload::new(seed),
            callers,
            pending: BTreeMap::new(),
            waiting: BTreeSet::new(),
            done: Vec::new(),
            kills: 0,
            ready: Vec::new(),
        }
    }

    /// Makes the project and the keeper, in a run of their own.
    pub fn set_up(&mut self) {
        let mut process = self.start("");
        self.ready.extend(process.ready());
        for order in [
            Order::project(),
            Order::register("setup-keeper", Some(KEEPER)),
        ] {
            let answer = process.ask(&order).expect("an answer");
            let answer = answer.get("ok").cloned().ok_or(answer.to_string());
            self.done.push(Done { order, answer });
        }
        let ended = process.ended();
        assert!(ended.success(), "{ended}");
    }

    /// Feeds a driver with armed failpoints until one of them kills it.
    pub fn run_into(&mut self, failpoints: &str) {
        let mut process = self.start(failpoints);
        if process.ready().is_some() {
            self.feed(&mut process, Until::Gone);
        }
        let ended = process.ended();
        assert_eq!(ended.signal(), Some(9), "{failpoints}: {ended}");
        self.kills += 1;
    }

    /// Feeds a driver and kills it at a moment.
    pub fn run_and_kill(&mut self, moment: Moment) {
        let mut process = self.start("");
        if let Moment::AfterStart(length) = moment {
            let rest = length.saturating_sub(process.started().elapsed());
            // Whatever it says within this time is `ready` or nothing.
            if process.hear(rest) == Heard::Silence {
                return self.kill(process);
            }
        } else {
            self.ready.extend(process.ready());
        }
        let at = match moment {
            Moment::AfterStart(length) => process.started() + length,
            Moment::AfterAnswers(answers, length) => {
                self.feed(&mut process, Until::Done(self.done.len() + answers));
                Instant::now() + length
            }
        };
        self.feed(&mut process, Until::Instant(at));
        self.kill(process);
    }

    /// Chooses a moment from the seed: one in four hits the opening of the database.
    pub fn random_moment(&self) -> Moment {
        let us = Duration::from_micros(self.workload.below(10_000));
        if self.workload.below(4) == 0 {
            return Moment::AfterStart(us);
        }
        let answers = usize::try_from(self.workload.below(64)).unwrap_or_default();
        Moment::AfterAnswers(answers, us)
    }

    /// Runs undisturbed until everything pending is answered, repeats some of what was answered
    /// before, and ends cleanly.
    pub fn settle(&mut self) {
        let mut process = self.start("");
        self.ready.extend(process.ready());
        self.feed(&mut process, Until::Settled);
        assert!(
            self.pending.is_empty(),
            "the driver died while nobody harmed it"
        );
        let step = self.done.len() / 200 + 1;
        for done in self.done.iter().step_by(step) {
            let again = process.ask(&done.order).expect("an answer");
            match &done.answer {
                // C2: a repeat gets the first answer, whichever process gave it.
                Ok(first) => assert_eq!(again.get("ok"), Some(first), "{:?}", done.order),
                Err(code) => assert_eq!(again.get("error"), Some(&code.as_str().into())),
            }
        }
        let ended = process.ended();
        assert!(ended.success(), "{ended}");
    }

    /// Compares everything answered with the database, sums up, and cleans up.
    pub fn check(&self, scratch: &Path) -> Summary {
        let ledger = Ledger::read(self.launch.target.options(), scratch);
        assert!(ledger.findings.ok, "{:#?}", ledger.findings);
        let verdict = ledger.compare(&self.done);
        let mut ready = self.ready.clone();
        ready.sort();
        let ms = |ready: Option<&Duration>| ready.map_or(0, Duration::as_millis);
        let summary = Summary {
            kills: self.kills,
            acknowledged: self.done.iter().filter(|done| done.answer.is_ok()).count(),
            lost: verdict.lost.len(),
            doubled: verdict.doubled.len(),
            ready_p50_ms: ms(ready.get(ready.len() / 2)),
            ready_max_ms: ms(ready.last()),
        };
        let clean = verdict == super::Verdict::default();
        assert!(clean, "{summary}\n{verdict:#?}");
        // Nothing is there that nobody ordered.
        let known: BTreeSet<&String> = self.done.iter().map(|done| &done.order.id).collect();
        let stranger = ledger.events.keys().find(|id| !known.contains(id));
        assert_eq!(stranger, None, "an event without an order");
        self.launch.target.clean_up();
        summary
    }

    fn start(&mut self, failpoints: &str) -> Process {
        self.waiting.clear();
        Process::start(&self.launch.clone().with_failpoints(failpoints))
    }

    fn kill(&mut self, mut process: Process) {
        process.kill();
        // What it said before it died counts: somebody may have heard it.
        self.feed(&mut process, Until::Gone);
        let ended = process.ended();
        assert_eq!(ended.signal(), Some(9), "it ended by itself: {ended}");
        self.kills += 1;
    }

    fn feed(&mut self, process: &mut Process, until: Until) {
        let started = Instant::now();
        loop {
            assert!(started.elapsed() < 10 * PATIENCE, "fed for too long");
            for caller in 0..self.callers {
                if !self.waiting.contains(&caller)
                    && let Some(order) = self.order_of(caller, until)
                {
                    process.send(&order);
                    self.waiting.insert(caller);
                }
            }
            match until {
                Until::Settled if self.pending.is_empty() => return,
                Until::Done(done) if self.done.len() >= done => return,
                Until::Gone | Until::Instant(_) | Until::Done(_) | Until::Settled => {}
            }
            let patience = match until {
                Until::Instant(at) => at.saturating_duration_since(Instant::now()),
                Until::Gone | Until::Done(_) | Until::Settled => PATIENCE,
            };
            match process.hear(patience) {
                Heard::Line(line) if line == "ready" => {}
                Heard::Line(line) => {
                    let caller = self.record(&line);
                    self.waiting.remove(&caller);
                }
                Heard::Gone => return,
                Heard::Silence if matches!(until, Until::Instant(_)) => return,
                Heard::Silence => panic!("no answer to any of {:?}", self.pending.keys()),
            }
        }
    }

    fn order_of(&mut self, caller: usize, until: Until) -> Option<Order> {
        if !self.pending.contains_key(&caller) && !matches!(until, Until::Settled) {
            let order = self.workload.next(caller);
            self.pending.insert(caller, order);
        }
        self.pending.get(&caller).cloned()
    }

    /// Notes an answer and returns whose it is.
    fn record(&mut self, line: &str) -> usize {
        let answer: Value = serde_json::from_str(line).expect("a JSON line");
        let id = answer.get("id").and_then(Value::as_str).unwrap_or_default();
        let of = |(_, order): &(&usize, &Order)| order.id == id;
        let caller = self.pending.iter().find(of).map(|(caller, _)| *caller);
        let caller = caller.unwrap_or_else(|| panic!("nobody asked for {line}"));
        if let Some(code) = answer.get("error").and_then(Value::as_str) {
            if REPEATED.contains(&code) {
                return caller;
            }
            let expected = self
                .pending
                .get(&caller)
                .and_then(|order| order.refused_with);
            // C2: what was done and is repeated gets its first answer, not `name_taken`.
            assert_eq!(Some(code), expected, "{line}");
        }
        if let Some(order) = self.pending.remove(&caller) {
            let code = answer
                .get("error")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let answer = answer.get("ok").cloned().ok_or(code.to_owned());
            self.done.push(Done { order, answer });
        }
        caller
    }
}
