//! The vectors kept in memory equal the table, at every step (I9), and come in one order (J12).
//!
//! What a scan of memory finds is compared with a scan of the whole table, from the same snapshot
//! or inside the same transaction: after random commands, in batches of which parts were undone,
//! between the writes of two kernels, and from snapshots older than what memory knows. The vectors
//! have few directions, so that many are equally near.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier};

use comity_domain::vector::{Embedding, ModelId};
use comity_domain::{DiscoveryId, ProjectId, Seq};
use comity_kernel::actor::Party;
use comity_kernel::discovery::index::{Among, nearest, top};
use comity_kernel::discovery::{KeepVector, SubmitDiscovery};
use comity_kernel::failpoint::{Action, Failpoints};
use comity_kernel::options::{Options, Sharing};
use comity_kernel::params;
use comity_kernel::redaction::RedactEvent;
use comity_kernel::store::StoreError;
use comity_kernel::tx::{Read, Snapshot, WriteTx};
use comity_kernel::{Actor, Command, Error, Kernel, Query, Stop, Ticket};
use comity_testkit::crash::{Launch, Order, Process};
use comity_testkit::kit::request;
use comity_testkit::{Engine, Kit, SeededEntropy, both_engines};
use serde::Serialize;
use serde_json::{Value, json};

const DRIVER: &str = env!("CARGO_BIN_EXE_driver");
const SOURCES: [&str; 3] = ["arxiv", "blog", "news"];

/// What is looked for.
#[derive(Clone, Debug)]
struct Wish {
    model: ModelId,
    project: Option<ProjectId>,
    source: Option<&'static str>,
    only: Option<HashSet<DiscoveryId>>,
    vector: Embedding,
    most: usize,
}

/// What memory finds, and what the table holds.
#[derive(Debug, PartialEq)]
struct Found {
    memory: (Vec<(DiscoveryId, f64)>, usize),
    table: (Vec<(DiscoveryId, f64)>, usize),
}

impl Wish {
    fn look(&self, read: &mut impl Read) -> Result<Found, StoreError> {
        let among = Among {
            model: &self.model,
            project: self.project,
            source: self.source,
            only: self.only.as_ref(),
        };
        let found = top(read, &among, &self.vector, self.most)?;
        if let (Some(project), Some(source), None) = (self.project, self.source, &self.only) {
            let first = nearest(read, project, source, &self.model, &self.vector)?;
            assert_eq!(first.hits.first(), found.hits.first());
        }
        Ok(Found {
            memory: (found.hits, found.looked_at),
            table: self.scan(read)?,
        })
    }

    /// Compares with every row there is.
    fn scan(&self, read: &mut impl Read) -> Result<(Vec<(DiscoveryId, f64)>, usize), StoreError> {
        let rows = read.rows(
            "select v.discovery_id, d.project_id, d.source, v.dimension, v.vector
             from discovery_vector v join discovery d on d.id = v.discovery_id
             where v.model = ?1",
            params![self.model.as_str()],
            |row| {
                let id: DiscoveryId = row.take()?;
                let (project, source): (ProjectId, String) = (row.take()?, row.take()?);
                let (dimension, bytes): (i64, Vec<u8>) = (row.take()?, row.take()?);
                let dimension = usize::try_from(dimension).unwrap();
                let vector = Embedding::from_le_bytes(&bytes, dimension).unwrap();
                Ok((id, project, source, vector))
            },
        )?;
        let mut near: Vec<_> = rows
            .into_iter()
            .filter(|(_, project, _, _)| self.project.is_none_or(|wanted| wanted == *project))
            .filter(|(_, _, source, _)| self.source.is_none_or(|wanted| wanted == source))
            .filter(|(id, ..)| self.only.as_ref().is_none_or(|only| only.contains(id)))
            .filter_map(|(id, _, _, vector)| Some((id, self.vector.cosine(&vector)?)))
            .collect();
        let looked_at = near.len();
        // J12
        near.sort_by(|(a, x), (b, y)| y.partial_cmp(x).unwrap().then(a.cmp(b)));
        near.truncate(self.most);
        Ok((near, looked_at))
    }
}

/// Looks from a snapshot, which may have grown old.
struct Look {
    wish: Wish,
    /// Met once when the snapshot is there, and once when it may be read.
    barrier: Option<Arc<Barrier>>,
}

impl Query for Look {
    const NAME: &'static str = "look";
    const WHO: &'static [Party] = &[Party::Operator];
    type Answer = Found;

    fn run(&self, _actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Found, Error> {
        if let Some(barrier) = &self.barrier {
            barrier.wait();
            barrier.wait();
        }
        Ok(self.wish.look(snapshot)?)
    }
}

/// Submits, perhaps redacts, and looks before and after in the same transaction; then it may fail or
/// panic.
#[derive(Serialize)]
struct Looking {
    submit: SubmitDiscovery,
    redact: Option<RedactEvent>,
    #[serde(skip)]
    wish: Option<Wish>,
    end: End,
    #[serde(skip)]
    attempts: AtomicU32,
    #[serde(skip)]
    failpoints: Failpoints,
}

/// How a command ends.
#[derive(Clone, Copy, PartialEq, Serialize)]
enum End {
    Done,
    Undone,
    Panics,
    /// The first commit it is part of fails, so that its batch is run one by one.
    LostAtFirst,
}

impl Command for Looking {
    const NAME: &'static str = "looking";
    const WHO: &'static [Party] = &[Party::Operator];
    type Answer = ();

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<(), Stop> {
        const BEFORE_COMMIT: &str = "writer.before_commit";
        if self.end == End::LostAtFirst {
            if self.attempts.fetch_add(1, Ordering::SeqCst) == 0 {
                let full = StoreError::Full(Arc::new(std::fmt::Error));
                self.failpoints.set(BEFORE_COMMIT, Action::Fail(full));
            } else {
                self.failpoints.clear(BEFORE_COMMIT);
            }
        }
        let wish = self.wish.as_ref().unwrap();
        let before = wish.look(tx)?;
        self.submit.decide(tx)?;
        if let Some(redact) = &self.redact {
            redact.decide(tx)?;
        }
        let after = wish.look(tx)?;
        for found in [before, after] {
            if found.memory != found.table {
                return Err(Error::invalid("memory", format!("{found:?}")).into());
            }
        }
        assert!(self.end != End::Panics, "undone");
        match self.end {
            End::Undone => Err(Error::invalid("undone", "is undone").into()),
            _ => Ok(()),
        }
    }
}

struct World {
    kit: Kit,
    dice: SeededEntropy,
    submitted: usize,
    /// The events that gave a discovery its vector, or made one without.
    seqs: Vec<Seq>,
}

impl World {
    fn new(engine: Engine, seed: u64) -> Self {
        Self::with(engine, seed, |_| {})
    }

    fn with(engine: Engine, seed: u64, change: impl FnOnce(&mut Options)) -> Self {
        let kit = Kit::with(engine, |options| {
            options.sharing = Sharing::Shared;
            options.embedder = None;
            change(options);
        });
        kit.project("/srv/web");
        kit.project("/srv/api");
        Self {
            kit,
            dice: SeededEntropy::new(seed),
            submitted: 0,
            seqs: Vec::new(),
        }
    }

    fn below(&self, bound: usize) -> usize {
        usize::try_from(self.dice.below(bound as u64)).unwrap()
    }

    /// A model and a vector of it; there are few directions, some of them very long.
    fn vector(&self) -> (ModelId, Embedding) {
        let (model, dimension) = [("small", 2), ("large", 5)][self.below(2)];
        let lengths = [1.0, 3.0, 1e-30, 1e30];
        let length = lengths[self.below(4)];
        let mut numbers = vec![0.0; dimension];
        while numbers.iter().all(|number| *number == 0.0) {
            for number in &mut numbers {
                *number = [-1.0, 0.0, 1.0][self.below(3)] * length;
            }
        }
        (
            ModelId::parse(model).unwrap(),
            Embedding::new(numbers).unwrap(),
        )
    }

    fn submit(&mut self) -> SubmitDiscovery {
        request(&self.wanted())
    }

    fn wanted(&mut self) -> Value {
        let (model, vector) = self.vector();
        self.submitted += 1;
        let project = ["web", "api"][self.below(2)];
        let mut wanted = json!({
            "project": project, "source": SOURCES[self.below(3)],
            "source_id": self.submitted.to_string(), "title": "t",
        });
        if self.below(5) > 0 {
            wanted["embedding"] = json!(vector);
            wanted["model"] = json!(model);
        }
        wanted
    }

    fn wish(&self) -> Wish {
        let (model, vector) = self.vector();
        let some = |bound: usize| (self.below(2) == 0).then(|| self.below(bound));
        let only = (self.below(4) == 0).then(|| {
            let ids = (1..=self.submitted).filter(|_| self.below(2) == 0);
            ids.map(|id| DiscoveryId::new(i64::try_from(id).unwrap()))
                .collect()
        });
        Wish {
            model,
            project: some(2).map(|n| ProjectId::new(i64::try_from(n).unwrap() + 1)),
            source: some(3).map(|n| SOURCES[n]),
            only,
            vector,
            most: [1, 3, 500][self.below(3)],
        }
    }

    /// The redaction of something that was written before.
    fn redact(&self) -> Option<RedactEvent> {
        let seq = self.seqs.get(self.below(self.seqs.len().max(1)))?;
        Some(request(&json!({ "seq": seq, "reason": "a leak" })))
    }

    fn step(&mut self, kernel: &Kernel) {
        match self.below(12) {
            0 | 1 => self.batch(),
            2 => {
                if let Some(redact) = self.redact() {
                    kernel
                        .execute(Actor::OPERATOR.into(), redact)
                        .wait()
                        .unwrap();
                }
            }
            3 | 4 => {
                let (model, vector) = self.vector();
                let id = i64::try_from(self.below(self.submitted + 1) + 1).unwrap();
                let id = DiscoveryId::new(id);
                let keep = KeepVector::new(id, "t\n", model, vector);
                let kept = kernel.execute(Actor::System.into(), keep).wait();
                let kept = kept.ok().filter(|reply| reply.answer.kept);
                self.seqs.extend(kept.map(|reply| reply.seq));
            }
            _ => {
                let submit = self.submit();
                let submitted = kernel.execute(Actor::OPERATOR.into(), submit).wait();
                self.seqs.push(submitted.unwrap().seq);
            }
        }
    }

    /// A batch of which some commands are undone, and sometimes all of it once.
    fn batch(&mut self) {
        let gate = self.kit.failpoints.pause("writer.before_batch");
        let kernel = self.kit.share();
        let mut tickets: Vec<(End, Ticket<_>)> = Vec::new();
        for n in 0..6 {
            let end = match self.below(4) {
                0 => End::Undone,
                1 => End::Panics,
                2 if n == 5 => End::LostAtFirst,
                _ => End::Done,
            };
            let looking = Looking {
                submit: self.submit(),
                redact: if self.below(6) == 0 {
                    self.redact()
                } else {
                    None
                },
                wish: Some(self.wish()),
                end,
                attempts: AtomicU32::default(),
                failpoints: self.kit.failpoints.clone(),
            };
            tickets.push((end, kernel.execute(Actor::OPERATOR.into(), looking)));
            if n == 0 {
                gate.wait_until_hit();
            }
        }
        gate.open();
        let is_lost = tickets.iter().any(|(end, _)| *end == End::LostAtFirst);
        for (end, ticket) in tickets {
            let ended = ticket.wait().map(|_| ()).map_err(|error| error.to_string());
            match end {
                // Whoever was in the batch with one that is lost at first may be lost with it.
                End::Done | End::LostAtFirst => {
                    let lost = ended == Err("the disk is full".to_owned());
                    assert!(ended.is_ok() || (is_lost && lost), "{ended:?}");
                }
                End::Undone => assert!(ended.unwrap_err().contains("undone")),
                End::Panics => assert!(ended.unwrap_err().contains("internal")),
            }
        }
        self.kit.failpoints.clear("writer.before_batch");
        self.kit.failpoints.clear("writer.before_commit");
    }

    fn compare(&self, kernels: &[&Kernel]) {
        let wish = self.wish();
        for kernel in kernels {
            let look = Look {
                wish: wish.clone(),
                barrier: None,
            };
            let found = kernel.query(Actor::OPERATOR, look).wait().unwrap().answer;
            assert_eq!(found.memory, found.table, "{wish:?}");
        }
    }
}

/// Steps through two kernels, and compares in both after each.
fn go_and_compare(mut world: World, engine: Engine) {
    let steps = match engine {
        Engine::Sqlite => 300,
        Engine::Postgres => 100,
    };
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
    assert!(world.submitted > steps);
    drop((own, other));
}

both_engines! {
    // I9 J12: random commands, undone savepoints, lost batches, redactions, a second kernel in between
    fn memory_equals_the_table_at_every_step(engine) {
        go_and_compare(World::new(engine, 1), engine);
    }

    // I9 J12: the same where memory has room for a few vectors alone, and reads few at a time
    fn memory_that_is_full_leaves_the_rest_to_the_table(engine) {
        let small = |options: &mut Options| (options.vectors_bytes_max, options.vector_page) = (300, 4);
        go_and_compare(World::with(engine, 3, small), engine);
    }

    // I9: what a process of its own writes, and redacts, is in no memory until it is looked for
    fn what_another_process_writes_is_seen_at_once(engine) {
        let mut world = World::new(engine, 5);
        let mut other = Process::start(&Launch::new(DRIVER, world.kit.target()));
        other.ready().unwrap();
        let own = world.kit.share();
        let mut seqs = Vec::new();
        for nth in 0..60 {
            if nth % 3 == 0 {
                let submit = world.submit();
                own.execute(Actor::OPERATOR.into(), submit).wait().unwrap();
            }
            let mut ask = |op, request| {
                let id = format!("{op}-{nth}");
                let order = Order { caller: 0, id, op, request, events: 1, refused_with: None };
                other.ask(&order).unwrap()["ok"]["seq"].as_i64().unwrap()
            };
            seqs.push(ask("submit_discovery", world.wanted()));
            world.compare(&[&own]);
            if nth % 4 == 3 {
                let seq = seqs[world.below(seqs.len())];
                ask("redact", json!({ "seq": seq, "reason": "a secret" }));
                world.compare(&[&own]);
            }
        }
        other.close();
        assert!(other.ended().success());
        drop(own);
    }

    // I9: a snapshot that is older than what memory knows
    fn an_old_snapshot_is_answered_from_its_own_time(engine) {
        let mut world = World::new(engine, 2);
        let own = world.kit.share();
        for later in [1, 10, 40] {
            for _ in 0..10 {
                world.step(&own);
            }
            let mut wish = world.wish();
            (wish.project, wish.source, wish.only, wish.most) = (None, None, None, 500);
            let barrier = Arc::new(Barrier::new(2));
            let late = Look { wish: wish.clone(), barrier: Some(Arc::clone(&barrier)) };
            let late = own.query(Actor::OPERATOR, late);
            barrier.wait();
            for _ in 0..later {
                world.step(&own);
                world.compare(&[&own]);
            }
            let now = Look { wish, barrier: None };
            let now = own.query(Actor::OPERATOR, now).wait().unwrap().answer;
            barrier.wait();
            let late = late.wait().unwrap().answer;
            assert_eq!(late.memory, late.table);
            assert!(late.memory.1 <= now.memory.1);
            assert!(later < 40 || late.memory.1 < now.memory.1);
        }
    }
}
