//! Several processes on one database, each with a kernel of its own.

use std::sync::atomic::{AtomicBool, Ordering};

use comity_kernel::{Kernel, Options};
use comity_testkit::crash::{Heard, Launch, Ledger, Order, PATIENCE, Process, Target};
use comity_testkit::kit::register;
use comity_testkit::{Engine, Kit, both_engines};
use serde_json::Value;

const DRIVER: &str = env!("CARGO_BIN_EXE_driver");
const ORDERS: usize = 30;

fn order(who: usize, n: usize) -> Order {
    Order::register(&format!("p{who}-{n}"), Some(&format!("P{who}N{n}")))
}

/// Hears `count` answers, and returns the orders that were done.
fn answers(process: &Process, count: usize) -> Vec<String> {
    let mut done = Vec::new();
    for _ in 0..count {
        match process.hear(PATIENCE) {
            Heard::Line(line) => {
                let answer: Value = serde_json::from_str(&line).unwrap();
                assert!(answer.get("ok").is_some(), "{answer}");
                done.push(answer["id"].as_str().unwrap().to_owned());
            }
            heard => panic!("{heard:?} after {} answers", done.len()),
        }
    }
    done
}

both_engines! {
    // A2 I1 L2: they take turns, and the death of one harms no other
    fn processes_share_one_database(engine) {
        let directory = tempfile::tempdir().unwrap();
        let target = Target::fresh(engine, directory.path());
        let launch = Launch::new(DRIVER, target.clone());
        let mut first = Process::start(&launch);
        first.ready().unwrap();
        first.ask(&Order::project()).unwrap();
        let mut processes = [first, Process::start(&launch), Process::start(&launch)];
        processes[1].ready().unwrap();
        processes[2].ready().unwrap();
        for n in 0..ORDERS {
            for (who, process) in processes.iter_mut().enumerate() {
                process.send(&order(who, n));
            }
        }
        processes[2].kill();
        let mut done = answers(&processes[0], ORDERS);
        done.extend(answers(&processes[1], ORDERS));
        drop(processes);
        let ledger = Ledger::read(target.options(), directory.path());
        for id in done {
            assert!(ledger.place(&id, 2).is_some(), "{id}");
        }
        assert!(ledger.findings.ok, "{:?}", ledger.findings);
        target.clean_up();
    }
}

// A8, fault 17; SQLite alone: a copy taken under load is one moment of the log, whole
#[test]
fn a_backup_under_load_is_one_moment_of_the_log() {
    let kit = Kit::new(Engine::Sqlite);
    kit.project("/srv/web");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0.. {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                kit.run(register("web", &format!("a{n}"))).unwrap();
            }
        });
        for n in 0..5 {
            let before = *kit.kernel().head().borrow();
            let copy = kit
                .kernel()
                .backup(&kit.directory().join(format!("copy{n}.db")))
                .unwrap();
            let after = *kit.kernel().head().borrow();
            let opened = Kernel::open(Options::sqlite(&copy)).unwrap();
            let findings = opened.doctor(kit.directory()).unwrap();
            assert!(findings.ok, "{findings:?}");
            assert!(
                before <= findings.seq && findings.seq <= after,
                "{before} {} {after}",
                findings.seq
            );
        }
        stop.store(true, Ordering::Relaxed);
    });
}
