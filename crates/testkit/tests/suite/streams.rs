//! The callers' own streams: appended with an expected version, read in order.

use comity_kernel::{Actor, Error};
use comity_testkit::{Engine, both_engines};
use serde_json::{Value, json};

use crate::team::{Team, code};

const BOSS: Actor = Actor::OPERATOR;

impl Team {
    /// Appends to Blue's project's stream `deploys`.
    fn append(&self, who: &Actor, expected: impl Into<Value>) -> Result<Value, Error> {
        let request = json!({
            "stream": "deploys", "kind": "custom.done", "payload": { "by": who.to_string() },
            "expected_version": expected.into(),
        });
        self.call(who, "append_event", &request)
    }

    fn versions(&self, stream: &str) -> Vec<i64> {
        let page = self.call(
            &self.blue,
            "read_stream",
            &json!({ "stream": stream, "limit": 500 }),
        );
        let page = page.unwrap();
        let items = page["items"].as_array().unwrap().iter();
        items
            .map(|event| event["version"].as_i64().unwrap())
            .collect()
    }
}

both_engines! {
    // I2: exact, none and any
    fn a_stream_grows_only_from_the_version_its_writer_expects(engine) {
        let team = Team::new(engine);
        let (blue, green) = (&team.blue, &team.green);
        let conflict = |answer: Result<Value, Error>| {
            let error = answer.unwrap_err().to_json();
            assert_eq!(error["error"], "version_conflict");
            (error["expected"].clone(), error["present"].clone())
        };
        assert_eq!(conflict(team.append(blue, 1)), (json!(1), json!(0)));
        let first = team.append(blue, "none").unwrap();
        assert_eq!((&first["version"], &first["stream"]["version"], &first["stream"]["name"]), (&json!(1), &json!(1), &json!("deploys")));
        assert_eq!(conflict(team.append(green, "none")), (json!(0), json!(1)));
        assert_eq!(team.append(green, 1).unwrap()["version"], 2);
        assert_eq!(conflict(team.append(blue, 1)), (json!(1), json!(2)));
        assert_eq!(team.append(blue, "any").unwrap()["version"], 3);
        assert_eq!(conflict(team.append(blue, 0)), (json!(0), json!(3)));
        assert_eq!(team.versions("deploys"), [1, 2, 3]);
        // Another project's stream of that name is another one; nobody there sees ours.
        assert_eq!(team.append(&team.far, "none").unwrap()["version"], 1);
        let far = team.call(&team.far, "read_stream", &json!({ "stream": "deploys" })).unwrap();
        assert_eq!(far["items"].as_array().unwrap().len(), 1);
        let there = json!({ "project": "web", "stream": "deploys" });
        assert_eq!(code(team.call(&team.far, "read_stream", &there)), "not_found");
        assert_eq!(team.call(&BOSS, "read_stream", &there).unwrap()["stream"]["version"], 3);
    }

    // I2, a page at a time
    fn a_stream_is_read_in_order(engine) {
        let team = Team::new(engine);
        for number in 0..7 {
            let request = json!({ "stream": "log", "kind": "custom.line", "payload": { "n": number, "é": [1.5, null] } });
            team.call(&team.blue, "append_event", &request).unwrap();
        }
        let (mut after, mut seen) = (json!("0"), Vec::new());
        loop {
            let page = team.call(&team.green, "read_stream", &json!({ "stream": "log", "limit": 3, "after": after })).unwrap();
            seen.extend(page["items"].as_array().unwrap().clone());
            match &page["next"] {
                Value::Null => break,
                next => after = next.clone(),
            }
        }
        let payloads: Vec<_> = seen.iter().map(|event| event["payload"].clone()).collect();
        let expected: Vec<_> = (0..7).map(|n| json!({ "n": n, "é": [1.5, null] })).collect();
        assert_eq!(payloads, expected);
        assert!(seen.iter().all(|event| event["kind"] == "custom.line" && event["actor"] == "agent:1"));
        let near = team.call(&team.blue, "read_stream", &json!({ "stream": "logs" })).unwrap_err();
        assert_eq!(near.hint(), "did you mean `log`?");
    }

    fn what_is_no_good_is_refused_and_named(engine) {
        let team = Team::new(engine);
        let large = "x".repeat(64 * 1_024);
        for (field, wrong) in [
            ("stream", json!("a/b")),
            ("stream", json!("../x")),
            ("stream", json!("a\u{202e}")),
            ("kind", json!("done")),
            ("kind", json!("custom.")),
            ("kind", json!("run_created")),
            ("payload", json!([])),
            ("payload", json!({ "x": large })),
            ("payload.x", json!("a\0b")),
            ("expected_version", json!(-1)),
            ("expected_version", json!("1")),
            ("version", json!(1)),
        ] {
            let mut request = json!({ "stream": "s", "kind": "custom.x" });
            match field.split_once('.') {
                Some((outer, inner)) => request[outer] = json!({ inner: wrong }),
                None => request[field] = wrong,
            }
            let error = team.call(&team.blue, "append_event", &request).unwrap_err().to_json();
            assert_eq!((&error["error"], &error["field"]), (&json!("invalid"), &json!(field)), "{error}");
        }
        let most = "x".repeat(64 * 1_024 - 8);
        let largest = json!({ "stream": "s", "kind": "custom.x", "payload": { "x": most } });
        team.call(&team.blue, "append_event", &largest).unwrap();
    }

    // I2: 64 writers, 1..n once each
    fn of_many_writers_each_version_has_one(engine) {
        race(engine, 64, 4);
    }

    // I4: typed, and of no run; the surfaces show the caller's kind
    fn an_event_of_a_stream_has_its_kind_and_belongs_to_no_run(engine) {
        let team = Team::new(engine);
        let run = json!({ "project": "web", "goal": "g", "phases": ["a", "b"], "gates": { "a->b": [] } });
        team.call(&BOSS, "create_run", &run).unwrap();
        // Its number is that of the run.
        team.append(&team.blue, "none").unwrap();
        team.call(&BOSS, "register_consumer", &json!({ "project": "web", "name": "c" })).unwrap();
        let page = team.call(&team.green, "events", &json!({ "subject": "stream:1" })).unwrap();
        let [event] = page["items"].as_array().unwrap().as_slice() else { panic!("{page}") };
        assert_eq!((&event["kind"], &event["run"]), (&json!("custom.done"), &Value::Null));
        assert_eq!(event["subject"], json!({ "type": "stream", "id": 1 }));
        assert_eq!(event["payload"]["data"], json!({ "by": "agent:1" }));
        assert_eq!((&event["who"], &event["text"]), (&json!("Blue"), &json!("deploys 1: custom.done")));
        let of_run = team.call(&team.green, "events", &json!({ "run": 1 })).unwrap();
        let kinds: Vec<_> = of_run["items"].as_array().unwrap().iter().map(|one| one["kind"].clone()).collect();
        assert_eq!(kinds, ["run_created"]);
        let of_consumer = team.call(&team.green, "events", &json!({ "subject": { "type": "consumer", "id": 1 } })).unwrap();
        assert_eq!((&of_consumer["items"][0]["kind"], &of_consumer["items"][0]["run"]), (&json!("consumer_registered"), &Value::Null));
    }
}

/// Has writers append at once, each again from what it is told, and looks at what came of it.
fn race(engine: Engine, writers: usize, each: usize) {
    let team = Team::new(engine);
    let won: Vec<Vec<i64>> = std::thread::scope(|scope| {
        let write = |_| {
            scope.spawn(|| {
                let (mut expected, mut won) = (json!("none"), Vec::new());
                while won.len() < each {
                    match team.append(&team.blue, expected) {
                        Ok(answer) => {
                            won.push(answer["version"].as_i64().unwrap());
                            expected = answer["version"].clone();
                        }
                        Err(Error::VersionConflict { present, .. }) => expected = json!(present),
                        Err(Error::Busy { .. }) => expected = json!(0),
                        Err(error) => panic!("{error}"),
                    }
                }
                won
            })
        };
        let all: Vec<_> = (0..writers).map(write).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let mut versions = won.concat();
    versions.sort_unstable();
    let last = i64::try_from(writers * each).unwrap();
    assert_eq!(versions, (1..=last).collect::<Vec<_>>());
    assert_eq!(team.versions("deploys"), versions);
}
