//! Readers beside a busy writer, against the same readers alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use comity_kernel::agent::{ListAgents, RegisterAgent};
use comity_kernel::project::ProjectRef;
use comity_kernel::{Actor, Kernel, Options};
use comity_testkit::kit::request;
use serde_json::json;
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::Wanted;
use crate::base::{CALLERS, QUIET, SqliteBase, agents};
use crate::commit::per_second;
use crate::load::{Busy, run_all, runtime};
use crate::pairs::Pairs;
use crate::row::{Row, Target};

/// Reader threads of the kernel, and callers of them.
const READERS: usize = 4;
/// Agents that the pages are read from.
const AGENTS: usize = 5_000;
/// Agents on a page.
const PAGE: usize = 20;
/// How long one turn takes, and how many there are.
const TURN: Duration = Duration::from_millis(250);
const TURNS: usize = 8;

/// Four callers that list agents, with and without 64 callers that register more.
pub(crate) fn readers(wanted: &Wanted) -> Vec<Row> {
    let directory = TempDir::new_in(&wanted.directory).expect("a directory");
    let base = SqliteBase::new(directory.path());
    let mut options = Options::sqlite(base.copy("kernel.db"));
    options.readers = READERS;
    let kernel = Arc::new(Kernel::open(options).expect("the kernel opens"));
    let quiet = ProjectRef::parse(QUIET).expect("a key");
    let quiet = agents(AGENTS).into_iter().map(|agent| RegisterAgent {
        project: Some(quiet.clone()),
        ..agent
    });
    run_all(&kernel, &base.callers, quiet.collect());
    let number = Arc::new(AtomicUsize::new(0));
    let pairs = Pairs::measure(|| {
        let mut answered = [0, 0];
        for _ in 0..TURNS {
            let busy = Busy::start(&kernel, &base.callers, &number);
            answered[0] += read(&kernel);
            busy.stop();
            answered[1] += read(&kernel);
        }
        answered
            .map(|pages| per_second(pages, TURN * u32::try_from(TURNS).expect("few")))
            .into()
    });
    let written = number.load(Ordering::Relaxed);
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let note = format!(
        "{READERS} callers list pages of {PAGE} agents beside {CALLERS} that registered {written}; \
         {READERS} reader threads, 1 writer and 2 threads of callers compete for {cores} cores"
    );
    let target = Target::AtLeast(0.7);
    vec![Row::compared("readers", "/s", &pairs, target, note)]
}

/// Returns how many pages were read in one turn.
fn read(kernel: &Arc<Kernel>) -> usize {
    let pages: Arc<[ListAgents]> = (0..AGENTS - PAGE)
        .step_by(PAGE)
        .map(|after| {
            let after = after.to_string();
            request(&json!({ "project": QUIET, "limit": PAGE, "after": after }))
        })
        .collect();
    let started = Instant::now();
    runtime().block_on(async {
        let mut tasks = JoinSet::new();
        for reader in 0..READERS {
            let (kernel, pages) = (Arc::clone(kernel), Arc::clone(&pages));
            tasks.spawn(async move {
                let mut answered = 0;
                for page in pages.iter().cycle().skip(reader * 61) {
                    if started.elapsed() >= TURN {
                        break;
                    }
                    let page = kernel.query(Actor::OPERATOR, page.clone()).await;
                    assert_eq!(page.expect("a page").answer.items.len(), PAGE);
                    answered += 1;
                }
                answered
            });
        }
        tasks.join_all().await.iter().sum()
    })
}
