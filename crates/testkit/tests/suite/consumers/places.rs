//! Where a consumer is: moved, passed by pruning, over the end of an epoch, by programs of two ages.

use comity_kernel::tx::{Read as _, Snapshot};
use comity_kernel::{Actor, Error, Party, Query};
use comity_testkit::pruned::prune;
use comity_testkit::{both_engines, golden};
use serde_json::{Value, json};

use super::{Reader, seqs};
use crate::team::code;

/// Asks for the only cursor's document.
struct Document;

impl Query for Document {
    const NAME: &'static str = "document";
    const WHO: &'static [Party] = &[Party::Operator];
    type Answer = Value;

    fn run(&self, _: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Value, Error> {
        let sql = "select document from consumer_cursor";
        let text: String = snapshot.one(sql, &[], comity_kernel::store::Row::take)?;
        Ok(serde_json::from_str(&text)?)
    }
}

both_engines! {
    // I7: a running instance does not undo the move
    fn a_moved_consumer_goes_on_from_there_with_a_new_generation(engine) {
        let reader = Reader::new(engine);
        reader.register(&json!({ "since": 0, "filter": { "kinds": ["custom.said"] } }));
        let said = [reader.say(), reader.say()];
        reader.ack(1, said[1]).unwrap();
        let moved = reader.does("reset_consumer", &json!({ "to_seq": said[0] - 1 })).unwrap();
        assert_eq!((&moved["consumer"]["generation"], &moved["consumer"]["acked_seq"]), (&json!(2), &json!(said[0] - 1)));
        assert_eq!(code(reader.ack(1, said[1])), "wrong_generation");
        assert_eq!(seqs(&reader.poll(2).unwrap()), said);
        reader.ack(2, said[0]).unwrap();
        assert_eq!(seqs(&reader.poll(2).unwrap()), [said[1]]);
        reader.does("reset_consumer", &json!({ "to_seq": 0 })).unwrap();
        assert_eq!(seqs(&reader.poll(3).unwrap()), said);
        let ahead = reader.does("reset_consumer", &json!({ "to_seq": 10_000 })).unwrap_err().to_json();
        assert_eq!((&ahead["error"], &ahead["field"]), (&json!("invalid"), &json!("to_seq")));
        assert_eq!(code(reader.does("reset_consumer", &json!({ "name": "none", "to_seq": 0 }))), "not_found");
    }

    // I3: told, with the oldest event left, until it is moved
    fn who_was_passed_by_pruning_is_told(engine) {
        let mut reader = Reader::new(engine);
        reader.register(&json!({ "since": 2, "ttl": "1h" }));
        reader.team.kit.expect_damage();
        prune(&reader.team.kit, 5);
        let pruned = |answer: Result<Value, Error>| {
            let error = answer.unwrap_err();
            assert_eq!((error.code().word, error.code().status), ("pruned", 410));
            error.to_json()["oldest_seq"].as_i64().unwrap()
        };
        let events = |since: i64| reader.team.call(&Actor::OPERATOR, "events", &json!({ "since": since }));
        assert_eq!(pruned(reader.poll(1)), 6);
        assert_eq!(pruned(reader.poll(1)), 6);
        for since in [0, 4] {
            assert_eq!(pruned(events(since)), 6);
            assert_eq!(pruned(reader.does("reset_consumer", &json!({ "to_seq": since }))), 6);
            assert_eq!(pruned(reader.does("register_consumer", &json!({ "name": "new", "since": since }))), 6);
        }
        assert_eq!(seqs(&events(5).unwrap())[0], 6);
        reader.does("reset_consumer", &json!({ "to_seq": 5 })).unwrap();
        assert_eq!(seqs(&reader.poll(2).unwrap())[0], 6);
        // A stream whose beginning is gone is not read as if it began later.
        reader.say();
        let end = reader.say() - 1;
        prune(&reader.team.kit, end);
        let stream = |after: &str| reader.team.call(&reader.team.blue, "read_stream", &json!({ "stream": "s", "after": after }));
        assert_eq!(pruned(stream("0")), end + 1);
        assert_eq!(stream("1").unwrap()["items"][0]["version"], 2);
    }

    // A14: told until it has come to an event of the new epoch, or is moved
    fn a_consumer_is_told_that_the_epoch_changed(engine) {
        let mut reader = Reader::new(engine);
        reader.register(&json!({ "since": 0, "filter": { "kinds": ["custom.said"] } }));
        let before = reader.say();
        reader.ack(1, before - 1).unwrap();
        assert_eq!(reader.poll(1).unwrap()["epoch_changed"], Value::Null);
        golden::new_epoch(&mut reader.team.kit);
        let epoch = reader.team.kit.kernel().epoch().to_owned();
        let after = reader.say();
        for _ in 0..2 {
            let polled = reader.poll(1).unwrap();
            assert_eq!(seqs(&polled), [before, after]);
            let told = &polled["epoch_changed"];
            assert_eq!((&told["epoch"], &told["after"]), (&json!(epoch), &json!(before)));
            let begins = told["begins"].as_i64().unwrap();
            assert!(before < begins && begins < after, "{told}");
            assert_eq!(polled["consumer"]["lag"], 3, "numbers that were left out are no events");
        }
        reader.ack(1, before).unwrap();
        assert_ne!(reader.poll(1).unwrap()["epoch_changed"], Value::Null, "it has not come to it yet");
        reader.ack(1, after).unwrap();
        assert_eq!(reader.poll(1).unwrap()["epoch_changed"], Value::Null);
        golden::new_epoch(&mut reader.team.kit);
        reader.register(&json!({}));
        assert_ne!(reader.poll(2).unwrap()["epoch_changed"], Value::Null, "a takeover does not swallow it");
        reader.does("reset_consumer", &json!({ "to_seq": before })).unwrap();
        assert_eq!(reader.poll(3).unwrap()["epoch_changed"], Value::Null);
        reader.does("register_consumer", &json!({ "name": "new", "since": 0 })).unwrap();
        let new = reader.does("poll_consumer", &json!({ "name": "new", "generation": 1 })).unwrap();
        assert_eq!(new["epoch_changed"], Value::Null, "it began in the new one");
    }

    // I5: this program and a newer one write the cursor in turn
    fn a_cursor_of_a_newer_program_is_handed_on(engine) {
        let reader = Reader::new(engine);
        reader.register(&json!({ "since": 0 }));
        let kept = json!({ "generation": 1, "seq": 1, "extra": { "a": 1, "c": 3 } });
        reader.does("ack_consumer", &kept).unwrap();
        for round in 2..6 {
            let newer = json!({
                "v": 2, "seq": round, "epoch": 0, "shards": { "x": [round, null] }, "extra": { "a": round, "b": 2, "c": 3 },
            });
            let write = format!("update consumer_cursor set seq = {round}, document = '{newer}'");
            reader.team.kit.shell(&write).unwrap();
            let older = json!({ "generation": 1, "seq": round + 1, "extra": { "a": 0, "d": round } });
            reader.does("ack_consumer", &older).unwrap();
            let document = reader.team.kit.ask(Document).unwrap().answer;
            assert_eq!(document, json!({
                "v": 2, "seq": round + 1, "epoch": 0, "shards": { "x": [round, null] },
                "extra": { "a": 0, "b": 2, "c": 3, "d": round },
            }));
        }
    }
}
