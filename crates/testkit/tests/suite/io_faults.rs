//! A disk that fails or loses power under the real kernel.
//!
//! SQLite only: the faults are injected below it, in its file system layer. PostgreSQL's disk is
//! the business of its server; what its clients see of a failure are lost connections (L9).
//!
//! The n-th call fails, for n = 1, 2, 3 … until a run ends without a fault. Every call is the
//! campaign's way (`COMITY_IO_STEP=1`); unless told, every fifth one, and every sync.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use comity_kernel::actor::Correlation;
use comity_kernel::agent::{ListAgents, RegisterAgent, RegisteredAgent};
use comity_kernel::ambient::Ambient;
use comity_kernel::failpoint::Failpoints;
use comity_kernel::mail::{SendMessage, SentMessage};
use comity_kernel::project::EnsureProject;
use comity_kernel::{Actor, Caller, Error, Kernel, Options, Reply, Ticket};
use comity_testkit::crash::{Ledger, Order, PATIENCE, PROJECT, wait};
use comity_testkit::kit::{operator_with_key, request};
use comity_testkit::vfs::{Fault, FaultVfs, Lasting};
use comity_testkit::{ManualClock, SeededEntropy};
use serde_json::json;

use crate::crash::count_from;

/// An order's id with what was answered, and the events it must have left.
pub(crate) struct Answered {
    pub(crate) id: String,
    pub(crate) events: usize,
    pub(crate) outcome: Result<i64, Error>,
}

impl Answered {
    pub(crate) fn code(&self) -> &'static str {
        match &self.outcome {
            Ok(_) => "ok",
            Err(error) => error.code().word,
        }
    }
}

/// The operator, with an order's id as key and as correlation.
pub(crate) fn caller(id: &str) -> Caller {
    operator_with_key(id).with_correlation(Correlation::parse(id).unwrap())
}

/// Hands an agent's registration to the writer.
pub(crate) fn register(kernel: &Kernel, id: &str) -> Ticket<Reply<RegisteredAgent>> {
    let order = Order::register(id, None);
    let command: RegisterAgent = request(&order.request);
    kernel.execute(caller(id), command)
}

/// Hands a message to the operator to the writer.
fn send(kernel: &Kernel, id: &str) -> Ticket<Reply<SentMessage>> {
    let order = Order::message(id, &[]);
    let command: SendMessage = request(&order.request);
    kernel.execute(caller(id), command)
}

/// Makes the project that all agents are in.
pub(crate) fn make_project(kernel: &Kernel) -> Answered {
    let order = Order::project();
    let command: EnsureProject = request(&order.request);
    let ticket = kernel.execute(caller(&order.id), command);
    answered(&order.id, 1, ticket)
}

pub(crate) fn answered<T>(id: &str, events: usize, ticket: Ticket<Reply<T>>) -> Answered {
    let outcome = wait(ticket).map(|reply| reply.seq.get());
    Answered {
        id: id.to_owned(),
        events,
        outcome,
    }
}

/// Runs commands in one batch: the writer stands still until all of them wait.
pub(crate) fn in_one_batch(
    kernel: &Kernel,
    failpoints: &Failpoints,
    ids: &[&str],
) -> Vec<Answered> {
    let gate = failpoints.pause("writer.before_batch");
    let mut tickets = Vec::new();
    for id in ids {
        tickets.push((*id, register(kernel, id)));
        // A writer that gave up never comes to the gate.
        if tickets.len() == 1 && kernel.gave_up().borrow().is_none() {
            gate.wait_until_hit();
        }
    }
    gate.open();
    failpoints.clear("writer.before_batch");
    let answer = |(id, ticket)| answered(id, 2, ticket);
    tickets.into_iter().map(answer).collect()
}

/// A database of its own, in memory: whether a sync reaches a disk is decided by the shim above it.
struct Scene {
    directory: tempfile::TempDir,
    vfs: FaultVfs,
    failpoints: Failpoints,
    answers: Vec<Answered>,
}

impl Scene {
    fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let directory = if memory.is_dir() {
            tempfile::tempdir_in(memory)
        } else {
            tempfile::tempdir()
        };
        Self {
            directory: directory.unwrap(),
            vfs: FaultVfs::new(),
            failpoints: Failpoints::default(),
            answers: Vec::new(),
        }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("comity.db")
    }

    fn open(&self) -> Result<Kernel, Error> {
        let mut options = options(&self.path(), &self.failpoints);
        options.through_vfs(self.vfs.name());
        Kernel::open(options)
    }

    /// Opens, runs commands alone and in a batch, and closes; twice, so that the second session
    /// meets what the first one's last checkpoint left.
    fn play(&mut self) {
        for session in ["a", "b"] {
            match self.open() {
                Ok(kernel) => self.session(&kernel, session),
                Err(error) => self.check_refusal(&error),
            }
        }
    }

    fn session(&mut self, kernel: &Kernel, session: &str) {
        self.note(kernel, |_| vec![make_project(kernel)]);
        let id = |n| format!("{session}-{n}");
        self.note(kernel, |_| {
            vec![answered(&id(1), 2, register(kernel, &id(1)))]
        });
        let batch = [id(2), id(3), id(4)];
        let batch: Vec<&str> = batch.iter().map(String::as_str).collect();
        self.note(kernel, |failpoints| {
            in_one_batch(kernel, failpoints, &batch)
        });
        let agents: ListAgents = request(&json!({ "project": PROJECT }));
        if let Err(error) = wait(kernel.query(Actor::OPERATOR, agents)) {
            self.check_refusal(&error);
        }
        self.note(kernel, |_| {
            vec![answered(&id(5), 2, register(kernel, &id(5)))]
        });
        let mail = format!("{session}-mail");
        self.note(kernel, |_| vec![answered(&mail, 1, send(kernel, &mail))]);
    }

    /// Takes answers down; where the writer had given up before, none may be good (A11).
    fn note(&mut self, kernel: &Kernel, run: impl FnOnce(&Failpoints) -> Vec<Answered>) {
        let over = kernel.gave_up().borrow().is_some();
        let answers = run(&self.failpoints);
        for answer in &answers {
            assert!(
                !over || answer.outcome.is_err(),
                "acknowledged after giving up"
            );
            if let Err(error) = &answer.outcome {
                self.check_refusal(error);
            }
        }
        for answer in answers {
            self.keep(answer);
        }
    }

    /// Keeps one answer per order: that it is done outweighs all, "perhaps" outweighs "no".
    fn keep(&mut self, answer: Answered) {
        let weight = |answer: &Answered| match answer.code() {
            "ok" => 2,
            "indeterminate" => 1,
            _ => 0,
        };
        let known = self.answers.iter_mut().find(|known| known.id == answer.id);
        match known {
            Some(known) if weight(known) < weight(&answer) => *known = answer,
            Some(_) => {}
            None => self.answers.push(answer),
        }
    }

    /// A failing disk is told as such: never as damage (A12), never as a defect of ours (A4).
    fn check_refusal(&self, error: &Error) {
        let code = error.code().word;
        let project = self.answers.first().map_or("absent", Answered::code);
        let expected = ["storage_full", "indeterminate", "busy", "unusable"].contains(&code)
            || (code == "not_found" && project != "ok");
        assert!(expected, "{error:?}");
    }

    /// Opens the database without faults and compares it with the answers.
    fn verify(&self) {
        let kernel = Kernel::open(options(&self.path(), &Failpoints::default()))
            .unwrap_or_else(|error| panic!("it does not open again: {error:?}"));
        let ledger = Ledger::of(&kernel, self.directory.path());
        assert!(ledger.findings.ok, "{:#?}", ledger.findings);
        for answer in &self.answers {
            compare(&ledger, answer);
        }
        // Whatever was not acknowledged is done now, or was, and either way once (C2).
        let mut again = vec![make_project(&kernel)];
        for answer in self.answers.iter().filter(|answer| answer.events == 2) {
            again.push(answered(&answer.id, 2, register(&kernel, &answer.id)));
        }
        let mail = |answer: &&Answered| answer.id.ends_with("-mail");
        for answer in self.answers.iter().filter(mail) {
            again.push(answered(&answer.id, 1, send(&kernel, &answer.id)));
        }
        let ledger = Ledger::of(&kernel, self.directory.path());
        assert!(ledger.findings.ok, "{:#?}", ledger.findings);
        for answer in &again {
            assert!(answer.outcome.is_ok(), "{} of {}", answer.code(), answer.id);
            compare(&ledger, answer);
        }
    }
}

fn options(path: &Path, failpoints: &Failpoints) -> Options {
    let mut options = Options::sqlite(path);
    options.readers = 1;
    options.ambient = Ambient {
        clock: Arc::new(ManualClock::default()),
        entropy: Arc::new(SeededEntropy::new(1)),
        failpoints: failpoints.clone(),
    };
    options
}

/// Acknowledged means there; not acknowledged means whole or absent, and only "perhaps" may be there.
pub(crate) fn compare(ledger: &Ledger, answer: &Answered) {
    let place = ledger.place(&answer.id, answer.events);
    match &answer.outcome {
        Ok(seq) => assert_eq!(place, Some(*seq), "`{}` was acknowledged", answer.id),
        Err(error) if ledger.holds(&answer.id) => {
            assert!(place.is_some(), "`{}` is there in parts", answer.id);
            assert_eq!(
                error.code().word,
                "indeterminate",
                "`{}` is there",
                answer.id
            );
        }
        Err(_) => {}
    }
}

/// Plays the scene with the n-th call failing, for every n of the step, until none fails.
fn each_call_fails(fault: Fault, lasting: Lasting) {
    let step = match fault {
        // There are few syncs, and each one counts.
        Fault::FailedSync => 1,
        Fault::Eio | Fault::Enospc | Fault::ShortWrite => count_from("COMITY_IO_STEP", 5).max(1),
    };
    let mut rounds = 0;
    for n in (1..10_000).step_by(usize::try_from(step).unwrap()) {
        let mut scene = Scene::new();
        scene.vfs.fail_at(n, fault, lasting);
        println!("{fault:?} {lasting:?} n={n}");
        scene.play();
        let fired = scene.vfs.fired();
        scene.vfs.clear();
        scene.verify();
        rounds += 1;
        if fired == 0 {
            assert!(scene.answers.iter().all(|answer| answer.outcome.is_ok()));
            println!("io: {fault:?} {lasting:?}: {rounds} rounds, calls up to {n}, step {step}");
            return;
        }
    }
    panic!("it never ran without a fault");
}

// A11 B1 B7
#[test]
fn eio_in_any_call_loses_nothing_acknowledged() {
    each_call_fails(Fault::Eio, Lasting::Once);
    each_call_fails(Fault::Eio, Lasting::Persistent);
}

// B1 B7, fault 1
#[test]
fn enospc_in_any_call_loses_nothing_acknowledged() {
    each_call_fails(Fault::Enospc, Lasting::Once);
    each_call_fails(Fault::Enospc, Lasting::Persistent);
}

// A11 B1 B7
#[test]
fn a_short_write_in_any_call_loses_nothing_acknowledged() {
    each_call_fails(Fault::ShortWrite, Lasting::Once);
    each_call_fails(Fault::ShortWrite, Lasting::Persistent);
}

// A11 B1 B7
#[test]
fn a_failed_sync_in_any_call_loses_nothing_acknowledged() {
    each_call_fails(Fault::FailedSync, Lasting::Once);
    each_call_fails(Fault::FailedSync, Lasting::Persistent);
}

// A11: fail-stop, once is enough
#[test]
fn after_a_failed_sync_at_commit_nothing_is_acknowledged() {
    for fault in [Fault::FailedSync, Fault::Eio, Fault::ShortWrite] {
        let mut scene = Scene::new();
        let kernel = scene.open().unwrap();
        scene.answers.push(make_project(&kernel));
        scene.vfs.fail_at(1, fault, Lasting::Once);
        let failed = answered("failed", 2, register(&kernel, "failed"));
        assert_eq!(scene.vfs.fired(), 1);
        assert_eq!(failed.code(), "indeterminate", "{fault:?}");
        assert!(kernel.gave_up().borrow().is_some(), "{fault:?}");
        scene.answers.push(failed);
        for id in ["later", "still-later"] {
            let later = answered(id, 2, register(&kernel, id));
            assert_eq!(later.code(), "busy", "{fault:?}");
            scene.answers.push(later);
        }
        // Reading goes on.
        let agents: ListAgents = request(&json!({ "project": PROJECT }));
        wait(kernel.query(Actor::OPERATOR, agents)).unwrap();
        drop(kernel);
        scene.vfs.clear();
        scene.verify();
    }
}

// A11: the checkpoint of an idle writer syncs, too
#[test]
fn after_a_failed_sync_at_checkpoint_nothing_is_acknowledged() {
    let mut scene = Scene::new();
    let kernel = scene.open().unwrap();
    scene.answers.push(make_project(&kernel));
    scene.vfs.fail_at(1, Fault::FailedSync, Lasting::Once);
    // The writer checkpoints by itself once nothing came for a while.
    let started = Instant::now();
    while scene.vfs.fired() == 0 {
        assert!(started.elapsed() < PATIENCE, "the writer never checkpoints");
        std::thread::yield_now();
    }
    let later = answered("later", 2, register(&kernel, "later"));
    let code = later.code();
    scene.answers.push(later);
    drop(kernel);
    scene.vfs.clear();
    scene.verify();
    assert_ne!(code, "ok", "acknowledged after an fsync failed");
}

/// About as many calls as a scene makes.
const CALLS: u64 = 200;

// A9 B1: COMITY_POWER_CUTS sets how many; three of four come in the middle of something
#[test]
fn a_power_cut_loses_nothing_acknowledged() {
    let mut acknowledged = 0;
    let cuts = count_from("COMITY_POWER_CUTS", 20);
    for seed in 0..cuts {
        let dice = SeededEntropy::new(seed);
        let mut scene = Scene::new();
        scene.vfs.record_for_power_cut();
        if seed % 4 > 0 {
            let n = 1 + dice.below(CALLS);
            println!("seed {seed}: the disk stands still at call {n}");
            scene.vfs.fail_at(n, Fault::Eio, Lasting::Persistent);
            scene.play();
            scene.vfs.power_cut(seed).unwrap();
        } else {
            println!("seed {seed}: with the kernel open");
            scene.play();
            let kernel = scene.open().unwrap();
            scene.session(&kernel, "c");
            scene.vfs.power_cut(seed).unwrap();
        }
        acknowledged += scene
            .answers
            .iter()
            .filter(|answer| answer.outcome.is_ok())
            .count();
        scene.verify();
    }
    println!("power: {cuts} cuts, {acknowledged} acknowledged, 0 lost");
}
