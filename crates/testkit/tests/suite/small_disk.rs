//! A disk that is full or read-only, a real one: a small tmpfs of the test's own.
//!
//! SQLite only: PostgreSQL's disk is its server's. The tests mount and so run as root; where that
//! is refused they fail and say so, for a skipped test would look like a passed one.

use std::path::{Path, PathBuf};
use std::process::Command as Program;
use std::sync::Arc;

use comity_kernel::actor::Party;
use comity_kernel::agent::ListAgents;
use comity_kernel::ambient::Ambient;
use comity_kernel::failpoint::Failpoints;
use comity_kernel::store::{Param, Row};
use comity_kernel::tx::{Read as _, WriteTx};
use comity_kernel::{Actor, Command, Kernel, Options, Stop};
use comity_testkit::crash::{Launch, Ledger, Order, PROJECT, Process, Target, wait};
use comity_testkit::kit::request;
use comity_testkit::{ManualClock, SeededEntropy};
use serde_json::json;

use crate::io_faults::{Answered, answered, caller, compare, make_project, register};

/// Runs a program, and fails with everything it said unless it succeeds.
fn run(words: &[&str]) {
    let (program, arguments) = words.split_first().unwrap();
    let done = Program::new(program).args(arguments).output();
    let done = done.unwrap_or_else(|error| panic!("`{program}` does not start: {error}"));
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(
        done.status.success(),
        "`{}` was refused (root is needed): {said}",
        words.join(" ")
    );
}

/// A tmpfs that goes away with its test.
struct SmallDisk {
    mount: tempfile::TempDir,
}

impl SmallDisk {
    fn new(size_kb: u64) -> Self {
        let mount = tempfile::tempdir().unwrap();
        let size = format!("size={size_kb}k,mode=700");
        let path = mount.path().to_str().unwrap();
        run(&["mount", "-t", "tmpfs", "-o", &size, "comity-test", path]);
        Self { mount }
    }

    fn path(&self) -> &Path {
        self.mount.path()
    }

    fn database(&self) -> PathBuf {
        self.path().join("comity.db")
    }

    fn remount(&self, how: &str) {
        let options = format!("remount,{how}");
        run(&["mount", "-o", &options, self.path().to_str().unwrap()]);
    }

    fn free_bytes(&self) -> u64 {
        let disk = rustix::fs::statvfs(self.path()).unwrap();
        disk.f_bavail * disk.f_frsize
    }

    /// Takes space until only `left` bytes are free; removing the file gives it back.
    fn fill(&self, left: u64) -> PathBuf {
        let ballast = self.path().join("ballast");
        let bytes = usize::try_from(self.free_bytes().saturating_sub(left)).unwrap();
        std::fs::write(&ballast, vec![1; bytes]).unwrap();
        ballast
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // A failed test may still have files open there; the mount goes when they do.
        let path = self.mount.path();
        let _ = Program::new("umount").arg("--lazy").arg(path).status();
    }
}

fn options(path: &Path, failpoints: &Failpoints) -> Options {
    let mut options = Options::sqlite(path);
    options.reserve_bytes(0);
    options.readers = 2;
    options.ambient = Ambient {
        clock: Arc::new(ManualClock::default()),
        entropy: Arc::new(SeededEntropy::new(1)),
        failpoints: failpoints.clone(),
    };
    options
}

/// A command that writes more than fits, quickly: the writer's batches end after 5 ms.
#[derive(serde::Serialize)]
struct Big {
    bytes: i64,
}

impl Command for Big {
    const NAME: &'static str = "big";
    const WHO: &'static [Party] = &[Party::Operator];
    type Answer = i64;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<i64, Stop> {
        // A table off the log, so that the doctor needs no explanation should it ever fit.
        let sql = "insert into idempotency
                (credential, operation, key, request_sha256, answer, seq, lease_us)
             values ('test', 'big', 'big', zeroblob(?1), '', 0, 0) returning seq";
        Ok(tx.one(sql, &[Param::Int(self.bytes)], Row::take)?)
    }
}

/// Queues [A, B, BIG, C, D] behind a writer that stands still, and lets it go.
fn around_big(kernel: &Kernel, failpoints: &Failpoints, bytes: i64) -> Vec<Answered> {
    let gate = failpoints.pause("writer.before_batch");
    let first = register(kernel, "A");
    gate.wait_until_hit();
    let second = register(kernel, "B");
    let big = kernel.execute(caller("BIG"), Big { bytes });
    let (third, fourth) = (register(kernel, "C"), register(kernel, "D"));
    gate.open();
    failpoints.clear("writer.before_batch");
    vec![
        answered("A", 2, first),
        answered("B", 2, second),
        answered("BIG", 0, big),
        answered("C", 2, third),
        answered("D", 2, fourth),
    ]
}

fn codes(answers: &[Answered]) -> Vec<&'static str> {
    answers.iter().map(Answered::code).collect()
}

/// The acknowledged orders are the durable ones, no more and no less.
fn acknowledged_is_durable(ledger: &Ledger, answers: &[Answered]) {
    assert!(ledger.findings.ok, "{:#?}", ledger.findings);
    for answer in answers.iter().filter(|answer| answer.events > 0) {
        compare(ledger, answer);
        assert_eq!(
            ledger.holds(&answer.id),
            answer.outcome.is_ok(),
            "{}",
            answer.id
        );
    }
}

fn can_read(kernel: &Kernel) {
    let agents: ListAgents = request(&json!({ "project": PROJECT }));
    wait(kernel.query(Actor::OPERATOR, agents)).expect("reading goes on");
}

/// Bytes that overflow the page cache, so that the statement itself meets the full disk.
const SPILLS: i64 = 4_000_000;
/// Bytes that stay in the page cache until COMMIT.
const WAITS_FOR_COMMIT: i64 = 1_400_000;
/// Bytes left on the disk: enough for everything but the big one.
const LEFT: u64 = 1_000_000;

/// Replays B3: one command is too big for what is left of the disk.
struct OneTooBig {
    disk: SmallDisk,
    scratch: tempfile::TempDir,
    ballast: PathBuf,
    kernel: Kernel,
    answers: Vec<Answered>,
}

impl OneTooBig {
    fn play(bytes: i64) -> Self {
        let disk = SmallDisk::new(8_000);
        let failpoints = Failpoints::default();
        let kernel = Kernel::open(options(&disk.database(), &failpoints)).unwrap();
        let mut answers = vec![make_project(&kernel)];
        let ballast = disk.fill(LEFT);
        answers.extend(around_big(&kernel, &failpoints, bytes));
        Self {
            disk,
            scratch: tempfile::tempdir().unwrap(),
            ballast,
            kernel,
            answers,
        }
    }

    fn acknowledged_is_durable(&self) {
        let big = self
            .answers
            .iter()
            .find(|answer| answer.id == "BIG")
            .unwrap();
        assert_eq!(big.code(), "storage_full");
        acknowledged_is_durable(
            &Ledger::of(&self.kernel, self.scratch.path()),
            &self.answers,
        );
        assert!(self.kernel.gave_up().borrow().is_none());
    }

    fn register(&mut self, id: &str) -> &'static str {
        self.answers
            .push(answered(id, 2, register(&self.kernel, id)));
        self.answers.last().unwrap().code()
    }

    /// Fault 1: full, then free again, without a restart.
    fn recovers(mut self) {
        let more = self.disk.path().join("more");
        std::fs::write(
            &more,
            vec![1; usize::try_from(self.disk.free_bytes()).unwrap()],
        )
        .unwrap();
        let full = (0..500).any(|n| self.register(&format!("filling-{n}")) == "storage_full");
        assert!(full, "the disk never got full");
        can_read(&self.kernel);
        self.acknowledged_is_durable();
        std::fs::remove_file(&more).unwrap();
        std::fs::remove_file(&self.ballast).unwrap();
        assert_eq!(self.register("after"), "ok");
        self.acknowledged_is_durable();
        drop(self.kernel);
        let options = options(&self.disk.database(), &Failpoints::default());
        acknowledged_is_durable(&Ledger::read(options, self.scratch.path()), &self.answers);
    }
}

// B3, fault 1: SQLite ends the transaction under the batch; nobody is told "done" of what is gone
#[test]
fn a_statement_that_fills_the_disk_takes_nothing_acknowledged_with_it() {
    let played = OneTooBig::play(SPILLS);
    played.acknowledged_is_durable();
    played.recovers();
}

// B3 B7, fault 1
#[test]
fn a_commit_that_fills_the_disk_takes_nothing_acknowledged_with_it() {
    let played = OneTooBig::play(WAITS_FOR_COMMIT);
    played.acknowledged_is_durable();
    played.recovers();
}

// B2: one command fails alone, whether the others were in its batch or waited behind it
#[test]
fn a_command_that_fills_the_disk_fails_alone() {
    for bytes in [WAITS_FOR_COMMIT, SPILLS] {
        let played = OneTooBig::play(bytes);
        let codes = codes(&played.answers);
        assert_eq!(
            codes,
            ["ok", "ok", "ok", "storage_full", "ok", "ok"],
            "{bytes} bytes"
        );
    }
}

// Fault 1: the reserve stops writers before the disk does, and nobody else
#[test]
fn below_the_reserve_writing_stops_and_reading_goes_on() {
    let disk = SmallDisk::new(4_000);
    let scratch = tempfile::tempdir().unwrap();
    let mut options = options(&disk.database(), &Failpoints::default());
    options.reserve_bytes(500_000);
    let kernel = Kernel::open(options).unwrap();
    let mut answers = vec![make_project(&kernel)];
    answers.push(answered("above", 2, register(&kernel, "above")));
    let ballast = disk.fill(400_000);
    answers.push(answered("below", 2, register(&kernel, "below")));
    let probe = wait(kernel.probe()).unwrap_err();
    assert_eq!(probe.code().word, "storage_full"); // K5
    can_read(&kernel);
    std::fs::remove_file(ballast).unwrap();
    answers.push(answered("above-again", 2, register(&kernel, "above-again")));
    wait(kernel.probe()).unwrap();
    assert_eq!(codes(&answers), ["ok", "ok", "storage_full", "ok"]);
    acknowledged_is_durable(&Ledger::of(&kernel, scratch.path()), &answers);
}

// A12, fault 3: at start a clear error, no verdict of damage, not a byte changed
#[test]
fn a_read_only_disk_is_refused_at_start_and_used_once_writable() {
    let disk = SmallDisk::new(4_000);
    let scratch = tempfile::tempdir().unwrap();
    let options = options(&disk.database(), &Failpoints::default());
    let kernel = Kernel::open(options.clone()).unwrap();
    let answers = [
        make_project(&kernel),
        answered("before", 2, register(&kernel, "before")),
    ];
    drop(kernel);
    let before = std::fs::read(disk.database()).unwrap();
    // While a file is open for writing the system refuses to remount; so this is a start only.
    disk.remount("ro");
    for _ in 0..2 {
        let refused = Kernel::open(options.clone())
            .err()
            .expect("it cannot be written");
        let code = refused.code().word;
        assert!(["busy", "unusable"].contains(&code), "{refused:?}");
    }
    assert_eq!(std::fs::read(disk.database()).unwrap(), before);
    disk.remount("rw");
    acknowledged_is_durable(&Ledger::read(options, scratch.path()), &answers);
}

// A12, fault 3: the same with a write-ahead log left by a crash, which SQLite would gladly read
#[test]
fn a_read_only_disk_after_a_crash_is_refused_at_start() {
    let disk = SmallDisk::new(100_000);
    let target = Target::Sqlite(disk.database());
    let launch = Launch::new(env!("CARGO_BIN_EXE_driver"), target.clone());
    let mut process = Process::start(&launch.with_failpoints("writer.before_ack=kill@1"));
    process.ready().expect("it is ready");
    assert_eq!(process.ask(&Order::project()), None);
    drop(process);
    disk.remount("ro");
    let refused = Kernel::open(target.options()).map(drop);
    disk.remount("rw");
    let code = refused.expect_err("it cannot be written").code().word;
    assert!(["busy", "unusable"].contains(&code), "{code}");
    let scratch = tempfile::tempdir().unwrap();
    let ledger = Ledger::read(target.options(), scratch.path());
    assert!(ledger.place("setup-project", 1).is_some());
}

// A11 A12, fault 3: the file turns read-only under a running kernel (`chattr +i` on ext4 also
// stops those who have it open): an error that says "later", no crash, no verdict of damage
#[test]
fn a_file_that_turns_read_only_stops_writing_and_nothing_else() {
    // Not in /tmp, which may be a file system in memory that knows no such flag.
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = directory.path().join("comity.db");
    let options = options(&path, &Failpoints::default());
    let kernel = Kernel::open(options.clone()).unwrap();
    let mut answers = vec![make_project(&kernel)];
    let files = ["comity.db", "comity.db-wal"].map(|name| directory.path().join(name));
    let files = files.each_ref().map(|path| path.to_str().unwrap());
    let frozen = Frozen::new(files);
    for id in ["first", "second"] {
        let answer = answered(id, 2, register(&kernel, id));
        let status = answer.outcome.as_ref().map_err(|error| error.code().status);
        assert_eq!(status, Err(503), "{id}: {}", answer.code());
        assert_ne!(answer.code(), "damaged");
        answers.push(answer);
    }
    can_read(&kernel);
    drop(kernel);
    drop(frozen);
    let ledger = Ledger::read(options, directory.path());
    acknowledged_is_durable(&ledger, &answers);
}

/// Files that nobody can write, thawed at the end whatever happens.
struct Frozen<'a>([&'a str; 2]);

impl<'a> Frozen<'a> {
    fn new(files: [&'a str; 2]) -> Self {
        let frozen = Self(files);
        for file in files {
            run(&["chattr", "+i", file]);
        }
        frozen
    }
}

impl Drop for Frozen<'_> {
    fn drop(&mut self) {
        for file in self.0 {
            let _ = Program::new("chattr").args(["-i", file]).status();
        }
    }
}
