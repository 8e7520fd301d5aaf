//! Many who submit nearly the same at once, and others who judge meanwhile.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use comity_kernel::Kernel;
use comity_kernel::discovery::submit::SubmittedDiscovery;
use comity_kernel::discovery::{DismissDiscovery, RollBackSource, SubmitDiscovery};
use comity_kernel::failpoint::Failpoints;
use comity_kernel::options::Sharing;
use comity_testkit::kit::request;
use comity_testkit::{Kit, both_engines};

use super::*;

/// How many submit at once.
const SUBMITTERS: usize = 32;

fn rounds() -> usize {
    let set = std::env::var("COMITY_DISCOVERY_ROUNDS").ok();
    set.and_then(|set| set.parse().ok()).unwrap_or(6)
}

/// Another kernel on the same database, with failpoints of its own.
fn second(kit: &Kit) -> Kernel {
    let mut options = kit.options().clone();
    options.sharing = Sharing::Shared;
    options.ambient.failpoints = Failpoints::default();
    Kernel::open(options).unwrap()
}

/// A lab whose database others may open.
fn shared(engine: Engine) -> Lab {
    let kit = Kit::with(engine, |options| options.sharing = Sharing::Shared);
    Lab {
        team: Team::of(kit),
    }
}

/// Looks until a writer stands in line for the log's end.
fn until_somebody_waits(lab: &Lab) {
    let sql = "select count(*) from pg_locks where locktype = 'tuple' and relation = 'log_head'::regclass";
    let end = Instant::now() + Duration::from_mins(1);
    while lab.shell(sql) == "0" {
        assert!(Instant::now() < end, "nobody waits");
    }
}

/// A submission in one of four directions, a little beside it.
fn beside(round: usize, n: usize) -> SubmitDiscovery {
    let far = f32::from(u8::try_from(n).unwrap());
    let mut vector = [0.001 * far; 4];
    vector[n % 4] = 1.0 + far;
    let mut wish = near(&format!("{round}-{n}"), &vector, 0.9);
    wish["project"] = json!("web");
    // Each round is a source of its own.
    wish["source"] = json!(format!("feed {round}"));
    request(&wish)
}

both_engines! {
    // J2 F-H1: of 32 at a barrier, through two kernels, one of each four is added
    fn nearly_the_same_is_added_once(engine) {
        let lab = shared(engine);
        let kit = &lab.team.kit;
        let other = second(kit);
        println!("discovery: {} rounds of {SUBMITTERS}, {engine:?}", rounds());
        for round in 0..rounds() {
            let barrier = Barrier::new(SUBMITTERS);
            let submit = |n: usize| -> SubmittedDiscovery {
                let kernel = if n.is_multiple_of(3) { &other } else { kit.kernel() };
                let command = beside(round, n);
                barrier.wait();
                loop {
                    match kernel.execute(Actor::OPERATOR.into(), command.clone()).wait() {
                        // The other kernel had the file for too long: the answer says to ask again.
                        Err(Error::Busy { .. }) => {}
                        answer => return answer.unwrap().answer,
                    }
                }
            };
            let answers: Vec<_> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..SUBMITTERS).map(|n| scope.spawn(move || (n, submit(n)))).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            for cluster in 0..4 {
                let of: Vec<_> = answers.iter().filter(|(n, _)| n % 4 == cluster).map(|(_, answer)| answer).collect();
                let [one] = of.iter().filter_map(|answer| answer.discovery.as_ref()).collect::<Vec<_>>()[..] else {
                    panic!("round {round}, cluster {cluster}: {of:?}");
                };
                let others = of.iter().filter_map(|answer| answer.duplicate_of);
                assert_eq!(others.filter(|id| *id == one.id).count(), SUBMITTERS / 4 - 1);
            }
        }
        let rows = lab.shell("select count(*) from discovery");
        assert_eq!(rows, (4 * rounds()).to_string());
        drop(other);
    }

    // J2 F-H1: A has scanned and stands before its row; B gets no scan of its own until the row is there
    fn nobody_comes_between_a_scan_and_its_row(engine) {
        let lab = shared(engine);
        let kit = &lab.team.kit;
        let other = second(kit);
        let gate = kit.failpoints.pause("discovery.after_scan");
        let first = kit.kernel().execute(Actor::OPERATOR.into(), beside(0, 1));
        gate.wait_until_hit();
        let submit = || other.execute(Actor::OPERATOR.into(), beside(0, 5));
        let (sender, answers) = std::sync::mpsc::channel();
        let second = std::thread::scope(|scope| {
            scope.spawn(|| sender.send(submit().wait()).unwrap());
            match engine {
                // It is told to come again, for as long as A has the file.
                Engine::Sqlite => {
                    let early = answers.recv().unwrap();
                    assert!(matches!(early, Err(Error::Busy { .. })), "{early:?}");
                    gate.open();
                    submit().wait()
                }
                // It stands behind A, and is not answered before A is.
                Engine::Postgres => {
                    until_somebody_waits(&lab);
                    let early = answers.try_recv();
                    assert!(early.is_err(), "{early:?}");
                    gate.open();
                    answers.recv().unwrap()
                }
            }
        });
        let (first, second) = (first.wait().unwrap().answer, second.unwrap().answer);
        let added = first.discovery.unwrap().id;
        assert_eq!((second.created, second.duplicate_of), (false, Some(added)));
        assert_eq!(lab.shell("select count(*) from discovery"), "1");
        drop(other);
    }

    // J2: in one batch, where the row of the first is in no committed state yet
    fn two_of_one_batch_are_one(engine) {
        let lab = Lab::new(engine);
        let kit = &lab.team.kit;
        let gate = kit.failpoints.pause("writer.before_batch");
        let submit = |n: usize| kit.kernel().execute(Actor::OPERATOR.into(), beside(0, n));
        let zeroth = submit(0);
        gate.wait_until_hit();
        let (first, second) = (submit(1), submit(5));
        gate.open();
        assert!(zeroth.wait().unwrap().answer.created);
        let (first, second) = (first.wait().unwrap().answer, second.wait().unwrap().answer);
        assert_eq!((first.created, second.created), (true, false));
        assert_eq!(second.duplicate_of, first.discovery.map(|one| one.id));
    }

    // J8 F-H5: another dismisses meanwhile; each row has one event, of whoever changed it
    fn a_roll_back_tells_of_its_own_rows_alone(engine) {
        let lab = shared(engine);
        let kit = &lab.team.kit;
        let ids: Vec<_> = (0..8).map(|n| lab.scored(&n.to_string(), 0.5)).collect();
        let other = second(kit);
        let back: RollBackSource = request(&json!({
            "project": "web", "source": "feed", "since_time": "2000-01-01T00:00:00Z",
        }));
        let barrier = Barrier::new(2);
        let (rolled_back, dismissed) = std::thread::scope(|scope| {
            let rolling = scope.spawn(|| {
                barrier.wait();
                loop {
                    match kit.kernel().execute(Actor::OPERATOR.into(), back.clone()).wait() {
                        Err(Error::Busy { .. }) => {}
                        answer => return answer.unwrap().answer.dismissed,
                    }
                }
            });
            barrier.wait();
            let mut dismissed = Vec::new();
            for id in &ids {
                let dismiss: DismissDiscovery = request(&json!({ "id": id, "reason": "mine" }));
                loop {
                    match other.execute(Actor::OPERATOR.into(), dismiss.clone()).wait() {
                        Err(Error::Busy { .. }) => {}
                        Ok(_) => {
                            dismissed.push(*id);
                            break;
                        }
                        Err(error) => {
                            assert_eq!(error.code().word, "dismissed");
                            break;
                        }
                    }
                }
            }
            (rolling.join().unwrap(), dismissed)
        });
        let mut all: Vec<_> = rolled_back.iter().map(|id| id.get()).chain(dismissed.clone()).collect();
        all.sort_unstable();
        assert_eq!(all, ids, "each was dismissed by one of the two");
        let mine = lab.shell("select count(*) from discovery where reason = 'mine'");
        assert_eq!(mine, dismissed.len().to_string());
        let events = lab.shell("select count(*) from event where kind = 'discovery_dismissed'");
        assert_eq!(events, "8");
        drop(other);
    }
}
