//! SIGKILL at every step of a command and at random moments: acknowledged means durable, once.
//!
//! SIGKILL spares the page cache, so nothing here proves an fsync; `io_faults` cuts the power.

use std::os::unix::process::ExitStatusExt as _;
use std::time::Duration;

use comity_testkit::crash::{
    Harness, Launch, Ledger, Order, Process, Target, is_upgraded, with_upgrade,
};
use comity_testkit::{Engine, both_engines};
use serde_json::{Value, json};

const DRIVER: &str = env!("CARGO_BIN_EXE_driver");
const CALLERS: usize = 16;

/// Reads a number that a campaign sets.
pub(crate) fn count_from(variable: &str, otherwise: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{variable} is `{text}`")),
        Err(_) => otherwise,
    }
}

/// Kills at the `nth` hit of a failpoint, goes on after it, and checks everything.
fn killed_at(engine: Engine, failpoint: &str, nth: u64) {
    let directory = tempfile::tempdir().unwrap();
    let target = Target::fresh(engine, directory.path());
    let mut harness = Harness::new(DRIVER, target, nth, CALLERS);
    harness.set_up();
    // Twice: the second run starts from what the first one left behind.
    harness.run_into(&format!("{failpoint}=kill@{nth}"));
    harness.run_into(&format!("{failpoint}=kill@{nth}"));
    harness.settle();
    let summary = harness.check(directory.path());
    println!("{failpoint}@{nth}: {summary}");
}

fn ok(answer: Option<Value>) -> Value {
    let answer = answer.expect("the driver lives");
    answer
        .get("ok")
        .unwrap_or_else(|| panic!("{answer}"))
        .clone()
}

both_engines! {
    // B1 C2 I1, fault 9
    fn a_kill_at_any_step_loses_and_doubles_nothing(engine) {
        for failpoint in [
            "writer.before_batch",
            "command.after_emit",
            "writer.before_commit",
            "writer.before_ack",
        ] {
            for nth in [1, 2, 5] {
                killed_at(engine, failpoint, nth);
            }
        }
    }

    // B1, fault 9: before COMMIT nowhere, the retry does it
    fn a_command_killed_before_commit_is_nowhere(engine) {
        let directory = tempfile::tempdir().unwrap();
        let launch = Launch::new(DRIVER, Target::fresh(engine, directory.path()));
        let order = Order::register("only", None);
        for failpoint in ["writer.before_commit=kill@2", "command.after_emit=kill@3"] {
            let mut process = Process::start(&launch.clone().with_failpoints(failpoint));
            process.ready().expect("it is ready");
            // The project's commit is the first one where it does not exist yet.
            if failpoint.starts_with("writer") {
                ok(process.ask(&Order::project()));
            } else {
                ok(process.ask(&Order::register("other", None)));
            }
            assert_eq!(process.ask(&order), None, "{failpoint}");
            assert_eq!(process.ended().signal(), Some(9));
            let ledger = Ledger::read(launch.target.options(), directory.path());
            assert!(!ledger.holds("only"), "{failpoint}");
            assert!(ledger.findings.ok, "{:#?}", ledger.findings);
        }
        let mut process = Process::start(&launch);
        process.ready().expect("it is ready");
        let answer = ok(process.ask(&order));
        assert!(process.ended().success());
        let ledger = Ledger::read(launch.target.options(), directory.path());
        assert_eq!(ledger.place("only", 2), answer["seq"].as_i64());
        launch.target.clean_up();
    }

    // B1 C2, fault 9: between COMMIT and answer: once, and the retry gets the first answer
    fn a_command_killed_before_its_answer_is_there_once(engine) {
        let directory = tempfile::tempdir().unwrap();
        let launch = Launch::new(DRIVER, Target::fresh(engine, directory.path()));
        let order = Order::register("only", None);
        let deadly = launch.clone().with_failpoints("writer.before_ack=kill@2");
        let mut process = Process::start(&deadly);
        process.ready().expect("it is ready");
        ok(process.ask(&Order::project()));
        assert_eq!(process.ask(&order), None);
        assert_eq!(process.ended().signal(), Some(9));
        let committed = Ledger::read(launch.target.options(), directory.path());
        let place = committed.place("only", 2).expect("it was committed");

        let mut process = Process::start(&launch);
        process.ready().expect("it is ready");
        let first = ok(process.ask(&order));
        assert_eq!(first["seq"].as_i64(), Some(place));
        assert_eq!(first["agent"]["task"], "only");
        assert_eq!(ok(process.ask(&order)), first);
        // The same key for something else is a mistake, not a repeat.
        let other = Order { request: json!({ "key": "/srv/other" }), ..Order::project() };
        let refused = process.ask(&other).expect("an answer");
        assert_eq!(refused["error"], "idempotency_mismatch");
        assert!(process.ended().success());
        let after = Ledger::read(launch.target.options(), directory.path());
        assert_eq!(after.place("only", 2), Some(place));
        assert_eq!(after.head, committed.head);
        assert!(after.findings.ok, "{:#?}", after.findings);
        launch.target.clean_up();
    }

    // B1 C1 C2 I1: COMITY_KILLS sets how often; the campaign says 200
    fn kills_at_random_moments_lose_and_double_nothing(engine) {
        let directory = tempfile::tempdir().unwrap();
        let target = Target::fresh(engine, directory.path());
        let seed = count_from("COMITY_SEED", 1);
        println!("crash: COMITY_SEED={seed}");
        let mut harness = Harness::new(DRIVER, target, seed, CALLERS);
        harness.set_up();
        for _ in 0..count_from("COMITY_KILLS", 5) {
            let moment = harness.random_moment();
            harness.run_and_kill(moment);
        }
        harness.settle();
        let summary = harness.check(directory.path());
        println!("{summary}");
        // Ready again in 2 s: recovery does not grow with what was interrupted.
        assert!(summary.ready_max_ms < 2_000, "{summary}");
    }

    // K1: killed at some moment while it is made or upgraded, a database is wholly old or new
    fn a_schema_killed_at_any_moment_is_wholly_old_or_new(engine) {
        for ms in 0..8 {
            let directory = tempfile::tempdir().unwrap();
            let target = Target::fresh(engine, directory.path());
            killed_after(&Launch::new(DRIVER, target.clone()), Duration::from_millis(2 * ms));
            assert_eq!(is_upgraded(&target), Ok(false), "killed after {} ms", 2 * ms);
            target.clean_up();
        }
        let directory = tempfile::tempdir().unwrap();
        let target = Target::fresh(engine, directory.path());
        Harness::new(DRIVER, target.clone(), 1, CALLERS).set_up();
        let before = Ledger::read(target.options(), directory.path());
        let upgrade = Launch { upgrade: true, ..Launch::new(DRIVER, target.clone()) };
        for ms in 0..8 {
            killed_after(&upgrade, Duration::from_millis(3 * ms));
            // Which of the two is the moment's choice; half of one is nobody's.
            is_upgraded(&target).unwrap();
        }
        Process::start(&upgrade).ready().expect("it is upgraded");
        assert_eq!(is_upgraded(&target), Ok(true));
        let mut upgraded = target.options();
        with_upgrade(&mut upgraded);
        let after = Ledger::read(upgraded, directory.path());
        assert!(after.findings.ok, "{:#?}", after.findings);
        assert_eq!(after.findings.state_hash, before.findings.state_hash);
        assert_eq!(after.events, before.events);
        target.clean_up();
    }
}

/// Kills a driver so long after its start, whatever it does then.
fn killed_after(launch: &Launch, length: Duration) {
    let mut process = Process::start(launch);
    process.hear(length);
    process.kill();
    assert_eq!(process.ended().signal(), Some(9));
}

// K1: a database is made wholly or not at all (SQLite only: PostgreSQL's steps have no failpoints)
#[test]
fn a_database_killed_while_it_is_made_is_made_by_the_next() {
    for failpoint in ["migrate.before_step", "migrate.before_commit"] {
        killed_at_birth(Engine::Sqlite, &format!("{failpoint}=kill@1"));
    }
}

// K1: killed half-way, an upgrade is wholly old; killed after it, wholly new (SQLite only: as above)
#[test]
fn an_upgrade_killed_half_way_is_wholly_old() {
    let directory = tempfile::tempdir().unwrap();
    let target = Target::fresh(Engine::Sqlite, directory.path());
    Harness::new(DRIVER, target.clone(), 1, CALLERS).set_up();
    let upgrade = Launch {
        upgrade: true,
        ..Launch::new(DRIVER, target.clone())
    };
    for failpoint in [
        "migrate.before_step=kill@1",
        "migrate.before_step=kill@2",
        "migrate.before_commit=kill@1",
    ] {
        let process = Process::start(&upgrade.clone().with_failpoints(failpoint));
        assert_eq!(process.ready(), None, "{failpoint}");
        assert_eq!(process.ended().signal(), Some(9), "{failpoint}");
        assert_eq!(is_upgraded(&target), Ok(false), "{failpoint}");
    }
    let deadly = upgrade.with_failpoints("writer.before_batch=kill@1");
    let mut process = Process::start(&deadly);
    process.ready().expect("it is upgraded");
    assert_eq!(process.ask(&Order::register("later", None)), None);
    assert_eq!(process.ended().signal(), Some(9));
    assert_eq!(is_upgraded(&target), Ok(true));
}

/// Kills a driver while it makes its database, then lets another one make and use it.
fn killed_at_birth(engine: Engine, failpoint: &str) {
    let directory = tempfile::tempdir().unwrap();
    let target = Target::fresh(engine, directory.path());
    let mut harness = Harness::new(DRIVER, target, 1, CALLERS);
    harness.run_into(failpoint);
    harness.run_into(failpoint);
    harness.set_up();
    harness.settle();
    let summary = harness.check(directory.path());
    assert_eq!(summary.acknowledged, 2, "{failpoint}");
}

// K2: the backup before the upgrade is there, and it is the old database (SQLite only: a
// PostgreSQL workspace is backed up by `pg_dump`)
#[test]
fn an_upgrade_leaves_a_backup_of_before() {
    let directory = tempfile::tempdir().unwrap();
    let target = Target::fresh(Engine::Sqlite, directory.path());
    let mut harness = Harness::new(DRIVER, target.clone(), 1, CALLERS);
    harness.set_up();
    let before = Ledger::read(target.options(), directory.path());
    let launch = Launch {
        upgrade: true,
        ..Launch::new(DRIVER, target.clone())
    };
    let process = Process::start(&launch);
    process.ready().expect("it is upgraded");
    assert!(process.ended().success());
    let mut upgraded = target.options();
    with_upgrade(&mut upgraded);
    let schema = upgraded.migrations.last().unwrap().number;
    let backup = directory.path().join(format!("before-schema-{schema}.db"));
    let backup = Target::Sqlite(backup);
    assert_eq!(is_upgraded(&target), Ok(true));
    assert_eq!(is_upgraded(&backup), Ok(false));
    let kept = Ledger::read(backup.options(), directory.path());
    assert_eq!(kept.findings.state_hash, before.findings.state_hash);
}

// A8: a close of the file by anybody but SQLite would drop its locks; SQLite is known by
// `O_NOFOLLOW`, and the file is made once, before SQLite opens it
#[test]
fn only_sqlite_opens_the_database() {
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("trace");
    let target = Target::fresh(Engine::Sqlite, directory.path());
    let strace = [
        "strace",
        "-f",
        "-e",
        "trace=openat,open,openat2,creat",
        "-o",
    ];
    let mut under: Vec<String> = strace.map(ToOwned::to_owned).to_vec();
    under.push(trace.display().to_string());
    let launch = Launch {
        under,
        ..Launch::new(DRIVER, target)
    };
    for start in 0..2 {
        let mut process = Process::start(&launch);
        process.ready().expect("`strace` runs the driver");
        ok(process.ask(&Order::project()));
        for (op, path) in [
            ("doctor", directory.path().to_owned()),
            ("backup", directory.path().join("copy.db")),
        ] {
            let order = Order {
                op,
                request: path.to_str().into(),
                ..Order::project()
            };
            ok(process.ask(&order));
        }
        assert!(process.ended().success());
        let traced = std::fs::read_to_string(&trace).unwrap();
        let opened: Vec<&str> = traced.lines().filter(|line| opens_database(line)).collect();
        let (sqlite, others): (Vec<&str>, Vec<&str>) =
            opened.iter().partition(|line| line.contains("O_NOFOLLOW"));
        // The writer, four readers and the doctor; the backup takes over the doctor's descriptor,
        // which SQLite keeps because closing it would drop the locks.
        let databases = sqlite
            .iter()
            .filter(|line| line.contains("comity.db\""))
            .count();
        assert!(databases >= 6, "{sqlite:#?}");
        let first = opened.first().expect("it was opened");
        match others.as_slice() {
            [made] if start == 0 => assert!(made.contains("O_EXCL") && made == first, "{made}"),
            [] if start == 1 => {}
            others => panic!("not SQLite: {others:#?}"),
        }
    }
}

/// Tells whether a line of the trace is a successful open of the database or its side files.
fn opens_database(line: &str) -> bool {
    let names = [
        "/comity.db\"",
        "/comity.db-wal\"",
        "/comity.db-shm\"",
        "/comity.db-journal\"",
    ];
    names.iter().any(|name| line.contains(name)) && !line.contains("= -1")
}
