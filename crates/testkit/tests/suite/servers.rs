//! Several kernels on one database: embedded processes on a file, servers on PostgreSQL.

use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use comity_domain::Seq;
use comity_kernel::options::{Database, Sharing};
use comity_kernel::project::ListProjects;
use comity_kernel::{Actor, Caller, Error, Kernel};
use comity_testkit::kit::{operator_with_key, register};
use comity_testkit::{Engine, Kit, both_engines};

fn second(kit: &Kit) -> Kernel {
    let mut options = kit.options().clone();
    options.sharing = Sharing::Shared;
    Kernel::open(options).unwrap()
}

fn wait_for(kernel: &Kernel, seq: Seq) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let mut head = kernel.head();
    let reached = async {
        let moved = head.wait_for(|head| *head >= seq);
        tokio::time::timeout(Duration::from_secs(10), moved)
            .await
            .map(|head| *head.unwrap())
    };
    runtime.block_on(reached).expect("the head is noticed");
}

both_engines! {
    // I1 L2 L5: writers of all kernels are serialised, order is commit order
    fn two_kernels_share_one_log(engine) {
        let kit = Kit::with(engine, |options| options.sharing = Sharing::Shared);
        kit.project("/srv/web");
        let other = second(&kit);
        let barrier = Arc::new(Barrier::new(2));
        let names = |kernel: &Kernel, tag: &str| {
            barrier.wait();
            let tickets: Vec<_> = (0..40)
                .map(|n| kernel.execute(Actor::OPERATOR.into(), register("web", &format!("{tag}{n}"))))
                .collect();
            tickets.into_iter().map(|ticket| ticket.wait().unwrap().seq).collect::<Vec<_>>()
        };
        let (first, second) = std::thread::scope(|scope| {
            let first = scope.spawn(|| names(kit.kernel(), "a"));
            let second = scope.spawn(|| names(&other, "b"));
            (first.join().unwrap(), second.join().unwrap())
        });
        let mut all: Vec<_> = first.iter().chain(&second).collect();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 80);
        assert!(first.is_sorted() && second.is_sorted());
        assert_eq!(kit.shell("select count(*), max(seq) from event").unwrap(), "161|161");
    }

    // E1 L2: of two kernels that register one name at once, one wins
    fn a_name_is_taken_once_among_kernels(engine) {
        let kit = Kit::with(engine, |options| options.sharing = Sharing::Shared);
        kit.project("/srv/web");
        let other = second(&kit);
        for round in 0..20 {
            let barrier = Barrier::new(2);
            let take = |kernel: &Kernel, name: String| {
                barrier.wait();
                kernel.execute(Actor::OPERATOR.into(), register("web", &name)).wait()
            };
            let (first, second) = std::thread::scope(|scope| {
                let first = scope.spawn(|| take(kit.kernel(), format!("Name{round}")));
                let second = scope.spawn(|| take(&other, format!("nAME{round}")));
                (first.join().unwrap(), second.join().unwrap())
            });
            let lost = match (first, second) {
                (Ok(_), Err(lost)) | (Err(lost), Ok(_)) => lost,
                both => panic!("{both:?}"),
            };
            assert!(matches!(lost, Error::NameTaken { .. }), "{lost:?}");
        }
    }

    // wake-ups: LISTEN/NOTIFY on PostgreSQL, a poll of the head on a shared file
    fn what_another_kernel_commits_is_noticed(engine) {
        let kit = Kit::with(engine, |options| options.sharing = Sharing::Shared);
        let other = second(&kit);
        let project = kit.project("/srv/web");
        wait_for(&other, Seq::new(1));
        let committed = other.execute(Actor::OPERATOR.into(), register("web", "Blue")).wait().unwrap();
        wait_for(kit.kernel(), committed.seq);
        assert_eq!(project.id.get(), 1);
    }

    // L10 A2: a kernel stopped in the middle of a batch delays others by 6 s at most, loses nothing
    fn a_stopped_kernel_does_not_stop_the_others(engine) {
        let kit = Kit::with(engine, |options| options.sharing = Sharing::Shared);
        kit.project("/srv/web");
        let mut options = kit.options().clone();
        options.ambient.failpoints = comity_kernel::failpoint::Failpoints::default();
        let other = Kernel::open(options).unwrap();
        let gate = kit.failpoints.pause("writer.before_commit");
        let stopped = kit.kernel().execute(Actor::OPERATOR.into(), register("web", "Blue"));
        gate.wait_until_hit();
        let started = Instant::now();
        let meanwhile = other.execute(Actor::OPERATOR.into(), register("web", "Red")).wait();
        assert!(started.elapsed() < Duration::from_secs(6), "{:?}", started.elapsed());
        match engine {
            // The file's lock cannot be taken from a living process: the answer is `busy`.
            Engine::Sqlite => assert!(matches!(meanwhile, Err(Error::Busy { .. })), "{meanwhile:?}"),
            Engine::Postgres => assert!(meanwhile.is_ok(), "{meanwhile:?}"),
        }
        gate.open();
        // What was stopped is run again from fresh reads, and takes effect once.
        assert!(stopped.wait().unwrap().answer.created);
        let again: Caller = Actor::OPERATOR.into();
        let again = other.execute(again, register("web", "Blue")).wait().unwrap_err();
        assert!(matches!(again, Error::NameTaken { .. }));
    }
}

/// Ends the server's side of this kernel's connections that match.
fn terminate(kit: &Kit, which: &str) -> usize {
    let sql = format!(
        "select count(pg_terminate_backend(pid)) from pg_stat_activity
         where application_name = 'comity ' || current_schema() and {which}"
    );
    kit.shell(&sql).unwrap().parse().unwrap()
}

// L9 B7, PostgreSQL alone: a file's COMMIT cannot be cut off. The key resolves what nobody knew.
#[test]
fn a_commit_whose_answer_was_lost_is_indeterminate_and_its_key_tells() {
    let kit = Kit::new(Engine::Postgres);
    kit.project("/srv/web");
    kit.shell(
        "create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(30); return new; end $$;
         create constraint trigger slow after insert on agent deferrable initially deferred for each row execute function slow()",
    )
    .unwrap();
    let ticket = kit
        .kernel()
        .execute(operator_with_key("k"), register("web", "Blue"));
    while terminate(&kit, "wait_event = 'PgSleep' and query = 'commit'") == 0 {
        std::thread::yield_now();
    }
    assert!(matches!(ticket.wait(), Err(Error::Indeterminate)));
    kit.shell("drop trigger slow on agent").unwrap();
    let again = kit
        .run_as(operator_with_key("k"), register("web", "Blue"))
        .unwrap();
    assert!(again.answer.created);
    assert_eq!(kit.shell("select count(*) from agent").unwrap(), "1");
}

// fault 16, PostgreSQL alone: killed connections are made anew, nobody is told a lie
#[test]
fn killed_connections_are_replaced() {
    let kit = Kit::new(Engine::Postgres);
    kit.project("/srv/web");
    for round in 0..3 {
        assert!(terminate(&kit, "true") > 0);
        let name = format!("Agent{round}");
        assert!(kit.run(register("web", &name)).unwrap().answer.created);
        let list: comity_kernel::agent::ListAgents =
            comity_testkit::kit::request(&serde_json::json!({ "project": "web" }));
        assert_eq!(kit.ask(list).unwrap().answer.items.len(), round + 1);
    }
}

// Whoever ends last merges what others wrote, even if it only asked: the file alone is then whole.
#[test]
fn a_question_that_ends_last_leaves_one_whole_file() {
    let mut kit = Kit::with(Engine::Sqlite, |options| {
        options.sharing = Sharing::Shared;
    });
    kit.project("/srv/web");
    kit.restart();
    kit.ask(ListProjects::default()).unwrap();
    let other = second(&kit);
    let registered = other.execute(Actor::OPERATOR.into(), register("web", "Blue"));
    registered.wait().unwrap();
    drop(other);
    let Database::Sqlite(file) = &kit.options().database else {
        panic!("a file");
    };
    let wal = file.path.with_file_name("comity.db-wal");
    let bytes = || std::fs::metadata(&wal).map_or(0, |wal| wal.len());
    assert!(bytes() > 0, "the other could not merge it");
    kit.stop();
    assert_eq!(bytes(), 0);
}
