//! Consumers: what they get, what they acknowledge, and who may do it for them.

mod endings;
mod places;

use comity_kernel::{Actor, Error};
use comity_testkit::kit::{operator_with_key, request};
use comity_testkit::{Kit, both_engines};
use serde_json::{Value, json};

use crate::team::{Team, code};

const BOSS: Actor = Actor::OPERATOR;

/// A consumer of the operator's, in a team that writes.
struct Reader {
    team: Team,
}

impl Reader {
    fn new(engine: comity_testkit::Engine) -> Self {
        let team = Team::new(engine);
        Self { team }
    }

    fn does(&self, operation: &str, more: &Value) -> Result<Value, Error> {
        let mut request = json!({ "name": "mirror" });
        for (name, value) in more.as_object().unwrap() {
            request[name] = value.clone();
        }
        self.team.call(&BOSS, operation, &request)
    }

    fn register(&self, more: &Value) -> Value {
        self.does("register_consumer", more).unwrap()
    }

    fn poll(&self, generation: i64) -> Result<Value, Error> {
        self.does(
            "poll_consumer",
            &json!({ "generation": generation, "limit": 500 }),
        )
    }

    fn ack(&self, generation: i64, seq: i64) -> Result<Value, Error> {
        self.does(
            "ack_consumer",
            &json!({ "generation": generation, "seq": seq }),
        )
    }

    /// Has Blue say something, and returns the place of it.
    fn say(&self) -> i64 {
        let said = json!({ "stream": "s", "kind": "custom.said" });
        let said = self
            .team
            .call(&self.team.blue, "append_event", &said)
            .unwrap();
        said["seq"].as_i64().unwrap()
    }

    fn listed(&self) -> Value {
        self.team.call(&BOSS, "list_consumers", &json!({})).unwrap()["items"].clone()
    }
}

fn seqs(polled: &Value) -> Vec<i64> {
    let items = polled["items"].as_array().unwrap().iter();
    items.map(|event| event["seq"].as_i64().unwrap()).collect()
}

both_engines! {
    // I7: at least once, in order, until acknowledged; a smaller acknowledgement changes nothing
    fn a_consumer_gets_everything_until_it_acknowledges(engine) {
        let reader = Reader::new(engine);
        let added = reader.register(&json!({ "filter": { "kinds": ["custom.*"] } }));
        assert_eq!((&added["created"], &added["consumer"]["generation"], &added["consumer"]["durable"]), (&json!(true), &json!(1), &json!(true)));
        assert_eq!(added["consumer"]["acked_seq"], added["seq"], "it starts now");
        assert_eq!(seqs(&reader.poll(1).unwrap()), [0; 0]);
        let said = [reader.say(), reader.say(), reader.say()];
        reader.team.call(&BOSS, "update_project", &json!({ "project": "web", "name": "W" })).unwrap();
        let polled = reader.poll(1).unwrap();
        assert_eq!(seqs(&polled), said);
        assert_eq!(reader.poll(1).unwrap()["items"], polled["items"], "the same again");
        assert_eq!((&polled["consumer"]["lag"], &polled["through"], &polled["more"]), (&json!(4), &polled["as_of_seq"], &json!(false)));
        let acked = reader.ack(1, said[1]).unwrap();
        assert_eq!((&acked["moved"], &acked["consumer"]["acked_seq"], &acked["consumer"]["lag"]), (&json!(true), &json!(said[1]), &json!(2)));
        assert_eq!(seqs(&reader.poll(1).unwrap()), [said[2]]);
        for seq in [said[0], 0, said[1]] {
            let same = reader.ack(1, seq).unwrap();
            assert_eq!((&same["moved"], &same["consumer"]["acked_seq"]), (&json!(false), &json!(said[1])));
        }
        let end = polled["as_of_seq"].as_i64().unwrap();
        for seq in [end + 1, -1] {
            let error = reader.ack(1, seq).unwrap_err().to_json();
            assert_eq!((&error["error"], &error["field"]), (&json!("invalid"), &json!("seq")));
        }
        assert_eq!(reader.ack(1, end).unwrap()["consumer"]["lag"], 0);
        let [listed] = reader.listed().as_array().unwrap().clone().try_into().unwrap();
        assert_eq!((&listed["lag"], &listed["acked_seq"], &listed["oldest_at"]), (&json!(0), &json!(end), &Value::Null));
        assert!(listed["acked_at"].is_string());
        assert_eq!(code(reader.team.call(&BOSS, "poll_consumer", &json!({ "name": "mirrors", "generation": 1 }))), "not_found");
    }

    // I7: the answer says that it is durable, so it is
    fn an_acknowledgement_survives_the_program(engine) {
        let mut reader = Reader::new(engine);
        reader.register(&json!({ "since": 0 }));
        let seq = reader.say();
        let extra = json!({ "generation": 1, "seq": seq, "extra": { "offset": 7, "mark": "é" } });
        reader.does("ack_consumer", &extra).unwrap();
        reader.team.kit.restart();
        let polled = reader.poll(1).unwrap();
        assert_eq!(seqs(&polled), [0; 0]);
        assert_eq!(polled["consumer"]["extra"], json!({ "offset": 7, "mark": "é" }));
    }

    // I7: takeover makes a new generation, the old one's acknowledgement is refused
    fn who_was_taken_over_from_is_told(engine) {
        let reader = Reader::new(engine);
        reader.register(&json!({ "since": 0 }));
        let seq = reader.say();
        reader.ack(1, seq - 1).unwrap();
        let taken = reader.register(&json!({ "since": 0 }));
        assert_eq!((&taken["created"], &taken["consumer"]["generation"], &taken["consumer"]["acked_seq"]), (&json!(false), &json!(2), &json!(seq - 1)));
        for refused in [reader.ack(1, seq), reader.poll(1), reader.ack(3, seq)] {
            let error = refused.unwrap_err().to_json();
            assert_eq!((&error["error"], &error["present"]), (&json!("wrong_generation"), &json!(2)));
        }
        assert_eq!(seqs(&reader.poll(2).unwrap())[0], seq);
        reader.ack(2, seq).unwrap();
    }

    fn of_two_takeovers_each_has_its_generation(engine) {
        let reader = Reader::new(engine);
        reader.register(&json!({}));
        let register = || {
            let take: comity_kernel::consumer::RegisterConsumer = request(&json!({ "name": "mirror" }));
            reader.team.kit.kernel().execute(BOSS.into(), take)
        };
        let (one, other) = (register(), register());
        let generation = |reply: comity_kernel::Reply<comity_kernel::consumer::register::RegisteredConsumer>| reply.answer.consumer.generation;
        assert_eq!((generation(one.wait().unwrap()), generation(other.wait().unwrap())), (2, 3));
        assert_eq!(code(reader.poll(2)), "wrong_generation");
        let again = || {
            let take: comity_kernel::consumer::RegisterConsumer = request(&json!({ "name": "mirror" }));
            reader.team.kit.run_as(operator_with_key("k"), take).unwrap()
        };
        let (first, replayed) = (again(), again());
        assert!(replayed.replayed);
        assert_eq!(first.answer, replayed.answer);
    }

    // S20: R O; in one's own project, and with one's own eyes
    fn consumers_belong_to_a_project_or_to_the_workspace(engine) {
        let team = Team::of(Kit::new(engine));
        let chief = team.kit.agent_with("web", "Chief", &["orchestrate"]).1;
        let other = team.kit.agent_with("api", "Other", &["orchestrate"]).1;
        let add = |who: &Actor, more: &Value| {
            let mut request = json!({ "name": "c", "since": 0 });
            for (name, value) in more.as_object().unwrap() {
                request[name] = value.clone();
            }
            team.call(who, "register_consumer", &request)
        };
        assert_eq!(code(add(&team.blue, &json!({}))), "forbidden");
        assert_eq!(add(&chief, &json!({})).unwrap()["consumer"]["project_id"], 1);
        assert_eq!(add(&other, &json!({})).unwrap()["consumer"]["generation"], 1, "another project's");
        assert_eq!(add(&BOSS, &json!({})).unwrap()["consumer"]["project_id"], Value::Null);
        assert_eq!(add(&BOSS, &json!({ "project": "web" })).unwrap()["consumer"]["generation"], 2, "taken over");
        assert_eq!(code(add(&other, &json!({ "project": "web" }))), "not_found");
        assert_eq!(code(add(&other, &json!({ "filter": { "project": "web" } }))), "not_found");
        let secret = json!({ "to": ["Green"], "subject": "s", "body": "b" });
        team.call(&team.blue, "send_message", &secret).unwrap();
        let own = team.call(&other, "poll_consumer", &json!({ "name": "c", "generation": 1, "limit": 500 })).unwrap();
        assert!(own["items"].as_array().unwrap().iter().all(|event| event["project"] == 2), "{own}");
        add(&chief, &json!({})).unwrap();
        let polled = team.call(&chief, "poll_consumer", &json!({ "name": "c", "generation": 3, "limit": 500 })).unwrap();
        let kinds: Vec<_> = polled["items"].as_array().unwrap().iter().map(|event| event["kind"].as_str().unwrap()).collect();
        assert!(kinds.contains(&"project_created") && !kinds.contains(&"message_sent"), "{kinds:?}");
        let listed = |who: &Actor| team.call(who, "list_consumers", &json!({})).unwrap()["items"].as_array().unwrap().len();
        assert_eq!((listed(&chief), listed(&other), listed(&BOSS)), (1, 1, 3));
    }

    fn what_cannot_be_registered_is_refused_and_named(engine) {
        let reader = Reader::new(engine);
        for (field, request) in [
            ("name", json!({ "name": "a/b" })),
            ("ttl", json!({ "ttl": "1m" })),
            ("ttl", json!({ "ttl": "31d" })),
            ("ttl", json!({ "ttl": "5m", "durable": true })),
            ("ttl", json!({ "durable": false })),
            ("since", json!({ "since": 999 })),
            ("since", json!({ "since": -1 })),
            ("kinds", json!({ "filter": { "kinds": ["run_create"] } })),
            ("filter.subject", json!({ "filter": { "subject": "rum:1" } })),
            ("filter.sort", json!({ "filter": { "sort": 1 } })),
        ] {
            let error = reader.does("register_consumer", &request).unwrap_err().to_json();
            assert_eq!((&error["error"], &error["field"]), (&json!("invalid"), &json!(field)), "{request}");
        }
        let near = reader.does("register_consumer", &json!({ "filter": { "kinds": ["run_create"] } }));
        assert!(near.unwrap_err().to_string().contains("did you mean `run_created`?"));
        reader.register(&json!({}));
        let large = json!({ "generation": 1, "seq": 1_000, "extra": { "x": "x".repeat(16 * 1_024) } });
        reader.does("ack_consumer", &large).unwrap_err();
    }
}
