//! Readers and the writer side by side: nobody waits for anybody.
//!
//! `COMITY_ROUNDS` says how often each is done.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use comity_kernel::actor::Party;
use comity_kernel::state::{LoadState, SaveState};
use comity_kernel::tx::{Read as _, Snapshot};
use comity_kernel::{Actor, Error, Query, Ticket};
use comity_testkit::kit::request;
use comity_testkit::{Kit, both_engines};
use serde_json::json;

/// Longer than anything here takes, so that a hang is a failure.
const PATIENCE: Duration = Duration::from_secs(30);

fn rounds() -> i64 {
    std::env::var("COMITY_ROUNDS").map_or(200, |text| text.parse().unwrap())
}

fn saving(round: i64) -> SaveState {
    request(&json!({ "project": "web", "scope": "s", "key": "k", "value": round }))
}

fn loading() -> LoadState {
    request(&json!({ "project": "web", "scope": "s", "key": "k" }))
}

/// Waits for an answer, but not for ever.
fn soon<T: Send + 'static>(ticket: Ticket<T>) -> Result<T, Error> {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(ticket.wait()));
    receiver.recv_timeout(PATIENCE).expect("an answer")
}

/// Where queries stop inside their snapshots: it counts them, and lets them go together.
#[derive(Clone, Default)]
struct Room(Arc<(Mutex<(usize, bool)>, Condvar)>);

impl Room {
    /// Enters, and stays until everybody is let go.
    fn stay(&self) {
        let (state, changed) = &*self.0;
        let mut state = state.lock().unwrap();
        state.0 += 1;
        changed.notify_all();
        let waited = changed.wait_timeout_while(state, PATIENCE, |(_, open)| !*open);
        assert!(!waited.unwrap().1.timed_out(), "nobody opened");
    }

    /// Waits until so many are inside.
    fn holds(&self, count: usize) {
        let (state, changed) = &*self.0;
        let state = state.lock().unwrap();
        let waited = changed.wait_timeout_while(state, PATIENCE, |(inside, _)| *inside < count);
        assert!(!waited.unwrap().1.timed_out(), "not everybody came");
    }

    fn open(&self) {
        let (state, changed) = &*self.0;
        state.lock().unwrap().1 = true;
        changed.notify_all();
    }
}

/// Loads, stays in its snapshot, and loads again.
struct Stay(Room);

impl Query for Stay {
    const NAME: &'static str = "stay";
    const WHO: &'static [Party] = &[Party::Operator];
    type Answer = (i64, i64);

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<(i64, i64), Error> {
        let before = loading().run(actor, snapshot)?.state.version;
        // The snapshot is as of one moment, whenever it is asked.
        let head = snapshot.head();
        self.0.stay();
        assert_eq!(snapshot.head(), head);
        Ok((before, loading().run(actor, snapshot)?.state.version))
    }
}

fn kit(engine: comity_testkit::Engine) -> Kit {
    let kit = Kit::with(engine, |options| options.readers = 4);
    kit.project("/srv/web");
    kit.run(saving(0)).unwrap();
    kit
}

both_engines! {
    // A3
    fn four_readers_are_in_their_snapshots_at_one_moment(engine) {
        let kit = kit(engine);
        for round in 1..=rounds() {
            let room = Room::default();
            let asked: Vec<_> = (0..4).map(|_| kit.kernel().query(Actor::OPERATOR, Stay(room.clone()))).collect();
            room.holds(4);
            // All four are in the past now, together.
            let saved = soon(kit.kernel().execute(Actor::OPERATOR.into(), saving(round))).unwrap();
            assert_eq!(saved.answer.state.version, round + 1);
            room.open();
            for ticket in asked {
                let read = soon(ticket).unwrap();
                assert_eq!(read.answer, (round, round), "round {round}");
                assert!(read.as_of_seq < saved.seq);
            }
        }
    }

    // A2 A3: were a read to ask for the write lock, it would wait here for ever
    fn a_read_returns_while_a_write_is_held(engine) {
        let kit = kit(engine);
        for round in 1..=rounds() {
            let gate = kit.failpoints.pause("writer.before_commit");
            let held = kit.kernel().execute(Actor::OPERATOR.into(), saving(round));
            gate.wait_until_hit();
            let asked: Vec<_> = (0..4).map(|_| kit.kernel().query(Actor::OPERATOR, loading())).collect();
            for ticket in asked {
                let read = soon(ticket).expect("an answer while the write is held");
                assert_eq!((read.answer.state.version, read.answer.value), (round, json!(round - 1)));
            }
            kit.failpoints.clear("writer.before_commit");
            gate.open();
            assert_eq!(soon(held).unwrap().answer.state.version, round + 1);
        }
    }

    // A3
    fn a_write_commits_while_a_read_is_held(engine) {
        let kit = kit(engine);
        for round in 1..=rounds() {
            let room = Room::default();
            let lingering = kit.kernel().query(Actor::OPERATOR, Stay(room.clone()));
            room.holds(1);
            let saved = soon(kit.kernel().execute(Actor::OPERATOR.into(), saving(round)));
            assert_eq!(saved.expect("a commit beside the snapshot").answer.state.version, round + 1);
            let fresh = soon(kit.kernel().query(Actor::OPERATOR, loading())).unwrap();
            assert_eq!(fresh.answer.state.version, round + 1, "who comes now sees it");
            room.open();
            assert_eq!(soon(lingering).unwrap().answer, (round, round));
        }
    }
}
