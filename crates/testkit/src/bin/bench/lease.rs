//! Leases: what many active ones cost whoever takes one more, and what a hostile pattern costs.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use comity_domain::Pattern;
use comity_domain::pattern::Index;
use comity_kernel::agent::RegisterAgent;
use comity_kernel::project::EnsureProject;
use comity_kernel::reservation::{CheckFiles, Release, ReserveFiles};
use comity_kernel::{Actor, Kernel, Options};
use comity_testkit::kit::request;
use serde_json::json;
use tempfile::TempDir;

use crate::Wanted;
use crate::base::PROJECT;
use crate::commit::p50_us;
use crate::pairs::{Pairs, Series};
use crate::row::{Row, Target};

/// Active leases, and who holds them.
const MANY: usize = 10_000;
const FEW: usize = 10;
const HOLDERS: usize = 100;
/// Leases taken at once.
const TOGETHER: usize = 50;
/// Leases of one run.
const PLAIN: usize = 400;
const WIDE: usize = 60;
/// Checks in memory of one run.
const CHECKS: usize = 2_000;

/// An active lease on a file, which as a path would cover all below it; spread over directories.
fn path(n: usize) -> String {
    format!("area{}/part{}/file{n}.txt", n % 20, n / 20 % 50)
}

/// An active lease that no pattern for other endings meets: it covers nothing below a file.
fn text(n: usize) -> String {
    format!("area{}/part{}/file{n}.tx?", n % 20, n / 20 % 50)
}

/// A kernel with so many active leases.
struct Held {
    kernel: Arc<Kernel>,
    /// Who takes one more; it holds nothing yet.
    taker: Actor,
    _data: TempDir,
}

impl Held {
    fn new(directory: &Path, leases: usize, on: fn(usize) -> String) -> Self {
        let data = TempDir::new_in(directory).expect("a directory");
        let options = Options::sqlite(data.path().join("lease.db"));
        let kernel = Kernel::open(options).expect("the kernel opens");
        let project: EnsureProject = request(&json!({ "key": PROJECT }));
        let made = kernel.execute(Actor::OPERATOR.into(), project).wait();
        made.expect("a project");
        let agents: Vec<Actor> = (0..=HOLDERS).map(|n| agent(&kernel, n)).collect();
        let (taker, holders) = agents.split_first().expect("agents");
        let patterns: Vec<String> = (0..leases).map(on).collect();
        for (patterns, holder) in patterns.chunks(TOGETHER).zip(holders.iter().cycle()) {
            let command: ReserveFiles = request(&json!({ "patterns": patterns, "ttl": "24h" }));
            let granted = kernel.execute(holder.clone().into(), command).wait();
            granted.expect("they are free");
        }
        Self {
            taker: taker.clone(),
            kernel: Arc::new(kernel),
            _data: data,
        }
    }

    /// Takes a lease and gives it back; returns how long taking it took.
    fn take(&self, pattern: &str) -> std::time::Duration {
        let command: ReserveFiles = request(&json!({ "patterns": [pattern] }));
        let caller = || self.taker.clone().into();
        let started = Instant::now();
        let taken = self.kernel.execute(caller(), command).wait();
        let took = started.elapsed();
        assert!(taken.is_ok_and(|taken| taken.answer.created), "it is free");
        let release: Release = request(&json!({ "all": true }));
        let released = self.kernel.execute(caller(), release).wait();
        released.expect("it was taken");
        took
    }
}

fn agent(kernel: &Kernel, n: usize) -> Actor {
    let register: RegisterAgent = request(&json!({
        "project": PROJECT, "name": format!("Holder{n}"), "program": "bench", "model": "none",
    }));
    let registered = kernel.execute(Actor::OPERATOR.into(), register).wait();
    let secret = registered.expect("an agent").answer.secret;
    let token = secret.expect("a token").reveal();
    let actor = kernel.authenticate(&token).wait();
    actor.expect("an actor").answer
}

/// One more lease on a file, and one on all files of a kind, beside 10,000.
pub(crate) fn reserve(wanted: &Wanted) -> Vec<Row> {
    let many = Held::new(&wanted.directory, MANY, path);
    let few = Held::new(&wanted.directory, FEW, path);
    let plain = Pairs::measure(|| {
        let (mut beside_many, mut beside_few) = (Vec::new(), Vec::new());
        for n in 0..PLAIN {
            let file = format!("area3/part7/new{n}.rs");
            beside_many.push(many.take(&file));
            beside_few.push(few.take(&file));
        }
        (p50_us(beside_many), p50_us(beside_few))
    });
    let many = Held::new(&wanted.directory, MANY, text);
    let patterns = patterns(text);
    let every = pattern("**/*.rs");
    let wide = Pairs::measure(|| {
        let (mut taking, mut passes) = (Vec::new(), Vec::new());
        for _ in 0..WIDE {
            taking.push(many.take("**/*.rs"));
            let started = Instant::now();
            let met = patterns.iter().filter(|other| other.overlaps(&every));
            assert_eq!(black_box(met.count()), 0);
            passes.push(started.elapsed());
        }
        (p50_us(taking), p50_us(passes))
    });
    let check: CheckFiles = request(&json!({ "patterns": ["**/*.rs"] }));
    let looking = Pairs::measure(|| {
        let (mut looks, mut passes) = (Vec::new(), Vec::new());
        for _ in 0..WIDE {
            let started = Instant::now();
            let found = many.kernel.query(many.taker.clone(), check.clone()).wait();
            looks.push(started.elapsed());
            assert!(found.is_ok_and(|found| found.answer.free));
            let started = Instant::now();
            let met = patterns.iter().filter(|other| other.overlaps(&every));
            assert_eq!(black_box(met.count()), 0);
            passes.push(started.elapsed());
        }
        (p50_us(looks), p50_us(passes))
    });
    let within: Series = [wide.kernel.median() / 1e3].into_iter().collect();
    let note =
        format!("p50 of a durable lease on one file beside {MANY} active ones, against {FEW}");
    let wide_note = format!(
        "p50 of a durable lease on `**/*.rs` beside {MANY} active ones that it does not meet, \
         against one pass of pair checks over them"
    );
    vec![
        Row::compared("lease_file", "us", &plain, Target::AtMost(1.5), note),
        Row::compared("lease_glob", "us", &wide, Target::AtMost(1.5), wide_note),
        Row::compared(
            "lease_glob_check",
            "us",
            &looking,
            Target::AtMost(1.5),
            "p50 of `check_files` for `**/*.rs`, which writes nothing, against the same pass"
                .to_owned(),
        ),
        Row::absolute(
            "lease_glob_time",
            "ms",
            &within,
            Target::AtMost(15.0),
            "the same, by the clock".to_owned(),
        ),
    ]
}

/// The checks themselves, in memory.
pub(crate) fn checks(_wanted: &Wanted) -> Vec<Row> {
    let mut index = Index::new();
    for (n, pattern) in patterns(path).into_iter().enumerate() {
        index.insert(n, pattern);
    }
    let files: Vec<_> = (0..CHECKS)
        .map(|n| pattern(&format!("area3/part7/new{n}.rs")))
        .collect();
    let plain = Series::measure(|| {
        let timed = files.iter().map(|file| {
            let started = Instant::now();
            assert!(black_box(index.overlapping(file)).is_empty());
            started.elapsed()
        });
        p50_us(timed.collect())
    });
    let bomb = ["**/a"; 8].join("/");
    let against = [
        bomb.clone(),
        format!("{bomb}/b"),
        ["a/**"; 8].join("/"),
        ["*"; 16].join("/"),
        format!("{}/b", ["a"; 60].join("/")),
        format!("{}/b", ["{a,b}"; 14].join("/")),
    ]
    .map(|text| pattern(&text));
    let bomb = pattern(&bomb);
    let hostile = Series::measure(|| {
        let worst = against.iter().map(|other| {
            let timed = (0..CHECKS).map(|_| {
                let started = Instant::now();
                black_box(bomb.overlaps(other));
                started.elapsed()
            });
            p50_us(timed.collect())
        });
        worst.fold(0.0, f64::max)
    });
    let note = format!("p50 of looking up one file among {MANY} patterns");
    let bombs = "the slowest p50 of `**/a` eight times against patterns made for it".to_owned();
    vec![
        Row::absolute("lease_check", "us", &plain, Target::AtMost(5.0), note),
        Row::absolute(
            "lease_hostile",
            "us",
            &hostile,
            Target::AtMost(1_000.0),
            bombs,
        ),
    ]
}

fn pattern(text: &str) -> Pattern {
    Pattern::parse(text).expect("a pattern")
}

fn patterns(on: fn(usize) -> String) -> Vec<Pattern> {
    (0..MANY).map(|n| pattern(&on(n))).collect()
}
