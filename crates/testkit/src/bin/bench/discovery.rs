//! Discoveries: what a search among 100,000 vectors costs, and adding one more that is near none.

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use comity_domain::vector::{Embedding, PackedEmbedding, quick};
use comity_kernel::discovery::{SearchDiscoveries, SubmitDiscovery};
use comity_kernel::project::EnsureProject;
use comity_kernel::{Actor, Kernel, Options};
use comity_testkit::SeededEntropy;
use comity_testkit::kit::request;
use serde_json::json;
use tempfile::TempDir;

use crate::Wanted;
use crate::base::PROJECT;
use crate::commit::p50_us;
use crate::pairs::{Pairs, Series};
use crate::row::{Row, Target};

/// Vectors that are there; fewer where nobody measures in earnest.
const MANY: usize = if cfg!(debug_assertions) {
    2_000
} else {
    100_000
};
const DIMENSION: usize = 384;
/// Commands on their way while the database is filled.
const TOGETHER: usize = 500;
/// Searches of one run, and hits of each.
const SEARCHES: usize = 20;
const HITS: usize = 10;
/// Discoveries that are added in one run.
const SUBMITS: usize = if cfg!(debug_assertions) { 20 } else { 300 };

/// A kernel with many discoveries of one source, and their vectors side by side.
struct Filled {
    kernel: Kernel,
    dice: SeededEntropy,
    /// All vectors, scaled to length one, in the order of their discoveries.
    matrix: Vec<f32>,
    added: usize,
    _data: TempDir,
}

impl Filled {
    fn new(directory: &Path) -> Self {
        let data = TempDir::new_in(directory).expect("a directory");
        let options = Options::sqlite(data.path().join("discovery.db"));
        let kernel = Kernel::open(options).expect("the kernel opens");
        let project: EnsureProject = request(&json!({ "key": PROJECT }));
        let made = kernel.execute(Actor::OPERATOR.into(), project).wait();
        made.expect("a project");
        let mut filled = Self {
            kernel,
            dice: SeededEntropy::new(7),
            matrix: Vec::with_capacity(MANY * DIMENSION),
            added: 0,
            _data: data,
        };
        while filled.added < MANY {
            let some = TOGETHER.min(MANY - filled.added);
            let commands: Vec<_> = (0..some).map(|_| filled.next(None)).collect();
            let tickets: Vec<_> = commands
                .into_iter()
                .map(|command| filled.kernel.execute(Actor::OPERATOR.into(), command))
                .collect();
            for ticket in tickets {
                ticket.wait().expect("it is new");
            }
        }
        filled
    }

    fn vector(&self) -> Embedding {
        let number = |_| {
            let below = u16::try_from(self.dice.below(20_001)).expect("it fits");
            f32::from(below) / 10_000.0 - 1.0
        };
        Embedding::new((0..DIMENSION).map(number).collect()).expect("a vector")
    }

    /// Makes the next discovery; the vectors in the matrix are the first ones.
    fn next(&mut self, threshold: Option<f64>) -> SubmitDiscovery {
        let vector = self.vector();
        self.added += 1;
        if threshold.is_none() {
            self.matrix.extend(vector.unit().components());
        }
        request(&json!({
            "project": PROJECT, "source": "bench", "source_id": self.added.to_string(),
            "title": "A discovery", "summary": "What it says.", "embedding": vector,
            "model": "bench", "dedup_threshold": threshold,
        }))
    }

    fn search(&self, vector: &Embedding) -> (Duration, Vec<(i64, f64)>) {
        let mut wanted: SearchDiscoveries = request(&json!({ "model": "bench", "limit": HITS }));
        wanted.vector = Some(PackedEmbedding(vector.clone()));
        let started = Instant::now();
        let found = self.kernel.query(Actor::OPERATOR, wanted).wait();
        let took = started.elapsed();
        let hits = found.expect("a search").answer.hits.into_iter();
        let hit = |hit: comity_kernel::discovery::search::DiscoveryHit| {
            (hit.discovery.id.get(), hit.score)
        };
        (took, hits.map(hit).collect())
    }

    /// One pass of products over all vectors, and nothing else.
    fn pass(&self, vector: &Embedding) -> Duration {
        let unit = vector.unit();
        let started = Instant::now();
        let products = self
            .matrix
            .chunks_exact(DIMENSION)
            .map(|row| quick(unit.components(), row));
        black_box(products.fold(f32::MIN, f32::max));
        started.elapsed()
    }

    /// What must be found: every vector compared exactly, all of them sorted.
    fn by_hand(&self, vector: &Embedding) -> Vec<(i64, f64)> {
        let unit = vector.unit();
        let rows = self.matrix.chunks_exact(DIMENSION).zip(1..);
        let near = rows.map(|(row, id)| (id, unit.cosine(row).expect("the same dimension")));
        let mut near: Vec<(i64, f64)> = near.collect();
        near.sort_by(|(a, x), (b, y)| y.total_cmp(x).then(a.cmp(b)));
        near.truncate(HITS);
        near
    }
}

/// A search by vector against one pass of products, and a submission that compares.
pub(crate) fn discoveries(wanted: &Wanted) -> Vec<Row> {
    let mut filled = Filled::new(&wanted.directory);
    for _ in 0..3 {
        let vector = filled.vector();
        assert_eq!(filled.search(&vector).1, filled.by_hand(&vector), "exact");
    }
    let search = Pairs::measure(|| {
        let (mut searches, mut passes) = (Vec::new(), Vec::new());
        for _ in 0..SEARCHES {
            let vector = filled.vector();
            searches.push(filled.search(&vector).0);
            passes.push(filled.pass(&vector));
        }
        (p50_us(searches) / 1e3, p50_us(passes) / 1e3)
    });
    let submit = Series::measure(|| {
        let timed = (0..SUBMITS).map(|_| {
            let command = filled.next(Some(0.99));
            let started = Instant::now();
            let added = filled.kernel.execute(Actor::OPERATOR.into(), command);
            let added = added.wait().expect("it is new");
            let took = started.elapsed();
            assert!(added.answer.created, "it is near none");
            took
        });
        p99_ms(timed.collect())
    });
    vec![
        Row::compared(
            "discovery_search",
            "ms",
            &search,
            Target::AtMost(1.5),
            format!(
                "p50 of `search_discoveries` by a vector among {MANY} x {DIMENSION}, exact, \
                 against one pass of f32 products"
            ),
        ),
        Row::absolute(
            "discovery_submit",
            "ms",
            &submit,
            Target::AtMost(25.0),
            format!("p99 of a durable submission that is compared with {MANY} of its source"),
        ),
    ]
}

fn p99_ms(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    let at = times.len() * 99 / 100;
    let p99 = times.get(at).or(times.last()).copied();
    p99.unwrap_or_default().as_secs_f64() * 1e3
}
