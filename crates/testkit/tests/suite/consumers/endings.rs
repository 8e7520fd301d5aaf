//! Consumers that are not durable, and who holds pruning.

use comity_kernel::consumer::{Furthest, furthest_behind};
use comity_kernel::tx::Snapshot;
use comity_kernel::{Actor, Error, Party, Query};
use comity_testkit::both_engines;
use serde_json::json;

use super::{Reader, seqs};
use crate::team::code;

/// Asks who is furthest behind.
struct AskFurthest;

impl Query for AskFurthest {
    const NAME: &'static str = "furthest";
    const WHO: &'static [Party] = &[Party::Operator];
    type Answer = Option<Furthest>;

    fn run(&self, _: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Self::Answer, Error> {
        Ok(furthest_behind(snapshot)?)
    }
}

impl Reader {
    fn sweep(&self) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(self.team.kit.kernel().sweep()).unwrap();
    }

    fn after(&self, seconds: i64) {
        self.team.kit.clock.advance_us(seconds * 1_000_000);
    }
}

both_engines! {
    // BEHAVIOUR: durable or with a time to live, since it last asked
    fn a_silent_consumer_is_gone_and_its_generation_is_not_given_again(engine) {
        let reader = Reader::new(engine);
        reader.register(&json!({ "ttl": "2m" }));
        for _ in 0..3 {
            reader.after(90);
            reader.poll(1).unwrap();
        }
        reader.after(90);
        let seq = reader.say();
        reader.ack(1, seq).unwrap();
        reader.after(119);
        reader.sweep();
        reader.poll(1).unwrap();
        reader.after(120);
        assert_eq!(code(reader.poll(1)), "not_found");
        assert_eq!(code(reader.ack(1, seq)), "not_found");
        assert_eq!(reader.listed(), json!([]));
        reader.sweep();
        reader.sweep();
        let kinds = json!({ "kinds": ["consumer_expired"] });
        let gone = reader.team.call(&Actor::OPERATOR, "events", &kinds).unwrap();
        assert_eq!(seqs(&gone).len(), 1, "written down once");
        let missed = reader.say();
        let again = reader.register(&json!({}));
        assert_eq!((&again["created"], &again["consumer"]["generation"], &again["consumer"]["durable"]), (&json!(true), &json!(2), &json!(true)));
        assert!(again["consumer"]["acked_seq"].as_i64().unwrap() > missed, "it starts anew");
        assert_eq!(code(reader.ack(1, missed)), "wrong_generation");
        reader.after(1_000_000);
        reader.sweep();
        reader.poll(2).unwrap();
    }

    // I1 I3: pruning waits for the durable ones alone
    fn the_durable_one_that_is_furthest_behind_is_known(engine) {
        let reader = Reader::new(engine);
        let furthest = || reader.team.kit.ask(AskFurthest).unwrap().answer.map(|one| (one.name, one.acked_seq.get()));
        assert_eq!(furthest(), None);
        reader.does("register_consumer", &json!({ "name": "passing", "since": 0, "ttl": "2m" })).unwrap();
        assert_eq!(furthest(), None);
        reader.register(&json!({ "since": 3 }));
        reader.does("register_consumer", &json!({ "name": "other", "project": "web", "since": 2 })).unwrap();
        assert_eq!(furthest(), Some(("other".to_owned(), 2)));
        let ack = json!({ "name": "other", "project": "web", "generation": 1, "seq": 7 });
        reader.does("ack_consumer", &ack).unwrap();
        assert_eq!(furthest(), Some(("mirror".to_owned(), 3)));
        reader.ack(1, 8).unwrap();
        reader.does("reset_consumer", &json!({ "to_seq": 1 })).unwrap();
        assert_eq!(furthest(), Some(("mirror".to_owned(), 1)), "a reset counts, the cursor from before it does not");
        // One that is not wanted any more is let go by a time to live.
        reader.register(&json!({ "ttl": "2m" }));
        assert_eq!(furthest(), Some(("other".to_owned(), 7)));
    }
}
