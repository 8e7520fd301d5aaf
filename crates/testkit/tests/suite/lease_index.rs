//! The patterns kept in memory equal the table, at every step (I9).
//!
//! What `check_files` answers is compared with a scan of all leases by the judge's own matcher:
//! after random commands, after batches of which parts were undone, between the writes of two
//! kernels, and from snapshots older than what memory knows.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier};

use comity_kernel::actor::Party;
use comity_kernel::failpoint::{Action, Failpoints};
use comity_kernel::options::Sharing;
use comity_kernel::reservation::check::Checked;
use comity_kernel::reservation::reserve::ReservedFiles;
use comity_kernel::reservation::{CheckFiles, ForceRelease, Release, Renew, ReserveFiles};
use comity_kernel::store::StoreError;
use comity_kernel::tx::{Snapshot, WriteTx};
use comity_kernel::{Actor, AsOf, Command, Error, Kernel, Query, Stop, Ticket};
use comity_testkit::kit::request;
use comity_testkit::leases::{History, Want, follow};
use comity_testkit::{Engine, Kit, SeededEntropy, both_engines};
use serde::Serialize;
use serde_json::{Value, json};

const AGENTS: usize = 5;

const PATTERNS: [&str; 24] = [
    "a",
    "b",
    "a/b",
    "a/b/c",
    "*",
    "?",
    "[ab]",
    "[!a]",
    "{a,c}",
    "a/*",
    "*/b",
    "*/*",
    "**",
    "**/b",
    "a/**",
    "**/b/c",
    "a/{b,c}",
    "*.rs",
    "a.rs",
    "{a,b}.{rs,md}",
    "d/e",
    "d/e/f",
    "d/*/f",
    "d/",
];

/// Reserves files, and then fails or panics: the writer undoes it alone.
#[derive(Serialize)]
struct Undone {
    reserve: ReserveFiles,
    panics: bool,
}

impl Command for Undone {
    const NAME: &'static str = "undone";
    const WHO: &'static [Party] = &[Party::Agent];
    type Answer = ();

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<(), Stop> {
        self.reserve.decide(tx)?;
        assert!(!self.panics, "undone");
        Err(Stop::Failed(Error::invalid("undone", "is undone")))
    }
}

/// Reserves files; the first commit it is part of fails, so that its batch is run one by one.
#[derive(Serialize)]
struct LostAtFirst {
    reserve: ReserveFiles,
    #[serde(skip)]
    attempts: Arc<AtomicU32>,
    #[serde(skip)]
    failpoints: Failpoints,
}

impl Command for LostAtFirst {
    const NAME: &'static str = "lost_at_first";
    const WHO: &'static [Party] = &[Party::Agent];
    type Answer = ReservedFiles;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<ReservedFiles, Stop> {
        const BEFORE_COMMIT: &str = "writer.before_commit";
        if self.attempts.fetch_add(1, Ordering::SeqCst) == 0 {
            let full = StoreError::Full(Arc::new(std::fmt::Error));
            self.failpoints.set(BEFORE_COMMIT, Action::Fail(full));
        } else {
            self.failpoints.clear(BEFORE_COMMIT);
        }
        self.reserve.decide(tx)
    }
}

/// Checks files from a snapshot that has grown old.
struct Late {
    check: CheckFiles,
    /// Met once when the snapshot is there, and once when it may be read.
    barrier: Arc<Barrier>,
}

impl Query for Late {
    const NAME: &'static str = "late_check";
    const WHO: &'static [Party] = &[Party::Operator];
    type Answer = Checked;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Checked, Error> {
        self.barrier.wait();
        self.barrier.wait();
        self.check.run(actor, snapshot)
    }
}

fn reserve(json: &Value) -> ReserveFiles {
    request(json)
}

fn check(pattern: &str, mode: &str) -> CheckFiles {
    request(&json!({ "project": "web", "patterns": [pattern], "mode": mode }))
}

fn sweep(kernel: &Kernel) {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(kernel.sweep()).unwrap();
}

fn found(checked: &AsOf<Checked>) -> Vec<i64> {
    let conflicts = checked.answer.conflicts.iter();
    conflicts.map(|one| one.reservation_id.get()).collect()
}

/// A kit, the judge who follows its log, and dice.
struct World {
    kit: Kit,
    agents: Vec<(i64, Actor)>,
    history: History,
    seen: i64,
    /// The lease clock at the start, and how far it was moved.
    start_us: i64,
    moved_us: i64,
    dice: SeededEntropy,
}

impl World {
    fn new(engine: Engine, seed: u64) -> Self {
        let kit = Kit::with(engine, |options| options.sharing = Sharing::Shared);
        kit.project("/srv/web");
        let agent = |n| {
            let (agent, actor) = kit.agent("web", &format!("Agent{n}"));
            (agent.id.get(), actor)
        };
        let agents = (0..AGENTS).map(agent).collect();
        let start = kit.shell("select lease_us from log_head").unwrap();
        Self {
            agents,
            history: History::default(),
            seen: 0,
            start_us: start.parse().unwrap(),
            moved_us: 0,
            dice: SeededEntropy::new(seed),
            kit,
        }
    }

    fn below(&self, bound: usize) -> usize {
        usize::try_from(self.dice.below(bound as u64)).unwrap()
    }

    fn pattern(&self) -> &'static str {
        PATTERNS[self.below(PATTERNS.len())]
    }

    fn mode(&self) -> &'static str {
        ["exclusive", "shared"][self.below(2)]
    }

    fn wish(&self) -> ReserveFiles {
        let patterns: BTreeSet<_> = (0..=self.below(2)).map(|_| self.pattern()).collect();
        let ttl = format!("{}s", self.below(30) + 1);
        reserve(&json!({ "patterns": patterns, "mode": self.mode(), "ttl": ttl }))
    }

    /// Lets something happen; what comes of it is in the log.
    fn step(&mut self, kernel: &Kernel) {
        let who = self.agents[self.below(AGENTS)].1.clone();
        let caller = || who.clone().into();
        let lease = self.below(self.history.leases().len().max(1)) + 1;
        match self.below(12) {
            0 => {
                let release: Release = request(&json!({ "all": true }));
                drop(kernel.execute(caller(), release).wait());
            }
            1 | 2 => {
                let release: Release = request(&json!({ "ids": [lease] }));
                drop(kernel.execute(caller(), release).wait());
            }
            3 => {
                let renew: Renew = request(&json!({ "ids": [lease] }));
                drop(kernel.execute(caller(), renew).wait());
            }
            4 => {
                let force: ForceRelease = request(&json!({ "id": lease, "reason": "a test" }));
                drop(kernel.execute(Actor::OPERATOR.into(), force).wait());
            }
            5 => {
                let us = i64::try_from(self.below(9_000_000)).unwrap();
                self.kit.clock.advance_us(us);
                self.moved_us += us;
            }
            6 => sweep(kernel),
            7 | 8 => self.undone_batch(),
            _ => drop(kernel.execute(caller(), self.wish()).wait()),
        }
        self.seen = follow(self.kit.kernel(), &mut self.history, self.seen).unwrap();
    }

    /// A batch of which some commands are undone, and sometimes all of it once.
    fn undone_batch(&self) {
        let gate = self.kit.failpoints.pause("writer.before_batch");
        let kernel = self.kit.kernel();
        let mut tickets: Vec<Box<dyn FnOnce()>> = Vec::new();
        for n in 0..6 {
            let actor = self.agents[self.below(AGENTS)].1.clone();
            let reserve = self.wish();
            tickets.push(match self.below(4) {
                0 | 1 => {
                    let panics = self.below(2) == 0;
                    answered(kernel.execute(actor.into(), Undone { reserve, panics }))
                }
                2 if n == 5 => answered(kernel.execute(
                    actor.into(),
                    LostAtFirst {
                        reserve,
                        attempts: Arc::default(),
                        failpoints: self.kit.failpoints.clone(),
                    },
                )),
                _ => answered(kernel.execute(actor.into(), reserve)),
            });
            if n == 0 {
                gate.wait_until_hit();
            }
        }
        gate.open();
        for ticket in tickets {
            ticket();
        }
        self.kit.failpoints.clear("writer.before_batch");
        self.kit.failpoints.clear("writer.before_commit");
    }

    /// What a scan finds in the way, for the operator or for an agent.
    fn scan(&mut self, agent: Option<i64>, pattern: &str, mode: &str) -> Vec<i64> {
        let wanted = Want {
            project: 1,
            agent,
            pattern,
            exclusive: mode == "exclusive",
        };
        self.history
            .in_the_way(&wanted, self.start_us + self.moved_us)
    }

    /// Compares what kernels answer with a scan.
    fn compare(&mut self, kernels: &[&Kernel]) {
        let (pattern, mode) = (self.pattern(), self.mode());
        let (agent, actor) = self.agents[self.below(AGENTS)].clone();
        let expected = [
            self.scan(None, pattern, mode),
            self.scan(Some(agent), pattern, mode),
        ];
        for kernel in kernels {
            let answers = [Actor::OPERATOR, actor.clone()]
                .map(|actor| found(&kernel.query(actor, check(pattern, mode)).wait().unwrap()));
            assert_eq!(answers, expected, "{pattern} {mode} at {}", self.seen);
        }
    }
}

fn answered<T: 'static>(ticket: Ticket<T>) -> Box<dyn FnOnce()> {
    Box::new(move || drop(ticket.wait()))
}

both_engines! {
    // I9 F5: random commands, undone savepoints, lost batches, a second kernel in between
    fn memory_equals_the_table_at_every_step(engine) {
        let steps = match engine {
            Engine::Sqlite => 700,
            Engine::Postgres => 250,
        };
        for seed in 1..=2 {
            let mut world = World::new(engine, seed);
            let other = {
                let mut options = world.kit.options().clone();
                options.ambient.failpoints = Failpoints::default();
                Kernel::open(options).unwrap()
            };
            let own = world.kit.share();
            for _ in 0..steps {
                let kernel = if world.below(3) == 0 { &other } else { &*own };
                world.step(kernel);
                world.compare(&[&own, &other]);
            }
            assert!(world.history.leases().len() > steps / 4, "{}", world.history.leases().len());
            drop((own, other));
        }
    }

    // I9: a snapshot that is older than what memory knows, by a little and by far
    fn an_old_snapshot_is_answered_from_its_own_time(engine) {
        let mut world = World::new(engine, 3);
        let own = world.kit.share();
        for later in [1, 5, 20, 60] {
            for _ in 0..10 {
                world.step(&own);
            }
            let (pattern, mode) = (world.pattern(), "exclusive");
            let barrier = Arc::new(Barrier::new(2));
            let late = Late { check: check(pattern, mode), barrier: Arc::clone(&barrier) };
            let late = own.query(Actor::OPERATOR, late);
            barrier.wait();
            let expected = world.scan(None, pattern, mode);
            for _ in 0..later {
                world.step(&own);
                world.compare(&[&own]);
            }
            barrier.wait();
            assert_eq!(found(&late.wait().unwrap()), expected, "{pattern}");
        }
    }

    // I9: so many ended since that memory has let go of them
    fn a_snapshot_from_before_memory_forgot_reads_the_table(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let blue = kit.agent("web", "Blue").1;
        let take = |n: usize| {
            let paths: Vec<_> = (0..20).map(|m| format!("r{n}/f{m}")).collect();
            kit.run_as(blue.clone(), reserve(&json!({ "paths": paths }))).unwrap()
        };
        take(0);
        let barrier = Arc::new(Barrier::new(2));
        let late = Late { check: check("**", "exclusive"), barrier: Arc::clone(&barrier) };
        let late = kit.kernel().query(Actor::OPERATOR, late);
        barrier.wait();
        // Each round ends what the one before took, and makes memory look.
        for n in 1..=20 {
            let all: Release = request(&json!({ "all": true }));
            kit.run_as(blue.clone(), all).unwrap();
            take(n);
            let now = kit.ask(check("**", "exclusive")).unwrap();
            assert_eq!(found(&now).len(), 20);
        }
        barrier.wait();
        assert_eq!(found(&late.wait().unwrap()), (1..=20).collect::<Vec<_>>());
    }

    // I9 F1: what was undone in the batch is in nobody's way, and its number is given again
    fn what_was_undone_is_in_nobodys_way(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let [blue, red] = ["Blue", "Red"].map(|name| kit.agent("web", name).1);
        let wish = |pattern: &str| reserve(&json!({ "patterns": [pattern] }));
        for panics in [false, true] {
            let file = format!("undone{panics}");
            let gate = kit.failpoints.pause("writer.before_batch");
            let undone = kit.kernel().execute(blue.clone().into(), Undone { reserve: wish("**"), panics });
            gate.wait_until_hit();
            let granted = kit.kernel().execute(red.clone().into(), wish(&file));
            let refused = kit.kernel().execute(blue.clone().into(), wish("**"));
            gate.open();
            assert!(undone.wait().is_err());
            assert!(granted.wait().unwrap().answer.created);
            assert!(matches!(refused.wait(), Err(Error::ReservationConflict { .. })));
            assert!(kit.ask(check("elsewhere", "exclusive")).unwrap().answer.free);
        }
    }
}
