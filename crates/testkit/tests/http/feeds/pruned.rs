//! Feeds whose next event another server has pruned: they end, and say so, instead of leaving it out.

use std::time::Duration;

use comity_kernel::Kernel;
use comity_kernel::options::Sharing;
use comity_testkit::pruned::prune_by;
use comity_testkit::served::Call;
use comity_testkit::{Engine, Kit, both_engines};

use super::stream::Stream;
use super::wire::{Heard, Wire};
use crate::town::{Held, Town};

/// More bytes than the sockets between a server and a client that takes nothing hold.
const LETTERS: usize = 80;
const LETTER_BYTES: usize = 250_000;

/// A town, and another server's kernel on its database.
fn two_servers(engine: Engine) -> (Town, Kernel) {
    let mut kit = Kit::with(engine, |options| options.sharing = Sharing::Shared);
    // No archive has what is pruned here.
    kit.expect_damage();
    let town = Town::around(kit, |_, patience| patience.feed = Duration::from_mins(1));
    let other = Kernel::open(town.served.kit.options().clone()).unwrap();
    (town, other)
}

impl Town {
    /// Whoever goes on behind a place is told that it is gone, and what is left.
    fn must_tell_that_it_is_pruned(&self, since: i64, oldest: i64) {
        let call = Call::get("/api/events/stream").token(&self.blue.token);
        let call = call.header("Last-Event-ID", &since.to_string());
        let refused = Stream::call(self, &call).map(|_| ()).unwrap_err();
        assert_eq!(refused.refusal(), (410, "pruned".to_owned()));
        assert_eq!(refused.json()["oldest_seq"], oldest);
        let mut wire = Wire::open(self, &self.blue.token, "/ws/agents/Blue");
        wire.subscribe(since);
        assert_eq!(wire.hear(), gone(oldest));
        // From what is left on they go on.
        let query = format!("?since={}", oldest - 1);
        let mut stream = Stream::open(self, &self.blue.token, &query);
        let mut wire = Wire::open(self, &self.blue.token, "/ws/agents/Blue");
        let seq = self.note(&self.red.token, "Blue", "after");
        while stream.next().unwrap().seq < seq {}
        assert_eq!(wire.event()["seq"], seq);
    }
}

fn gone(oldest: i64) -> Heard {
    Heard::Closed(4_410, format!("the log begins at event {oldest}"))
}

both_engines! {
    // I7 L5: who is still reading the log when another server prunes it
    fn a_feed_that_is_behind_ends_when_another_server_prunes(engine) {
        let (town, other) = two_servers(engine);
        let start = town.end();
        let body = "x".repeat(LETTER_BYTES);
        for _ in 0..LETTERS {
            town.note(&town.red.token, "Blue", &body);
        }
        let mut stream = Stream::open(&town, &town.blue.token, &format!("?since={start}"));
        let mut wire = Wire::open(&town, &town.blue.token, "/ws/agents/Blue");
        wire.subscribe(start);
        let end = town.end();
        prune_by(&other, end - 1);
        let oldest = end;
        let mut last = start;
        let closed = loop {
            match wire.hear() {
                Heard::Said(event) => {
                    last += 1;
                    assert_eq!(event["seq"], last, "nothing is left out");
                }
                closed => break closed,
            }
        };
        assert_eq!(closed, gone(oldest));
        assert!(last < end - 1, "it was behind");
        let mut last = start;
        while let Some(came) = stream.next() {
            last += 1;
            assert_eq!(came.seq, last, "nothing is left out");
        }
        assert!(last < end - 1, "it was behind");
        town.must_tell_that_it_is_pruned(last, oldest);
    }

    // I7 L5: a whole server that stood still meanwhile tells nobody what comes after the gap
    fn the_feeds_of_a_server_that_stood_still_end_when_another_prunes(engine) {
        let (town, other) = two_servers(engine);
        let mut stream = Stream::open(&town, &town.blue.token, "");
        let mut wire = Wire::open(&town, &town.blue.token, "/ws/agents/Blue");
        let seen = town.note(&town.red.token, "Blue", "seen");
        assert_eq!(stream.next().unwrap().seq, seen);
        assert_eq!(wire.event()["seq"], seen);
        let mut observed = Stream::open(&town, &town.observer, "");
        let mut operated = Stream::open(&town, &town.operator, "");
        let gate = Held::at(&town, "feeds.before_read");
        town.revoke(&town.observer);
        town.note(&town.red.token, "Blue", "never seen");
        gate.wait_until_hit();
        let end = town.note(&town.red.token, "Blue", "left");
        prune_by(&other, end - 1);
        gate.open();
        for stream in [&mut stream, &mut observed, &mut operated] {
            assert_eq!(stream.next(), None);
        }
        assert_eq!(wire.hear(), gone(end));
        town.must_tell_that_it_is_pruned(seen, end);
    }
}
