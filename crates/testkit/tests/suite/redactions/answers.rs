//! First answers that are kept under a key: they lose the words, and nothing else.

use comity_kernel::Actor;
use comity_testkit::kit::operator_with_key;
use comity_testkit::{Kit, both_engines};
use serde_json::{Value, json};

use super::{AllText, SECRET, redact};

/// Calls under a key, the same one for the same request.
fn call(kit: &Kit, name: &str, request: &Value) -> Value {
    let caller = operator_with_key(&format!("{:x}", request.to_string().len()));
    let answer = kit.call(caller, name, request);
    answer.unwrap_or_else(|error| panic!("{name} {request}: {error}"))
}

both_engines! {
    // C2: what is taken out of one answer changes no other that happens to say the like
    fn redacting_a_little_word_spoils_no_other_answer(engine) {
        for value in [json!(1), json!(12), json!(true), json!(false), json!(null), json!("new"), json!("web"), json!(""), json!([1]), json!({})] {
            let kit = Kit::new(engine);
            kit.project("/srv/web");
            let others = [
                ("save_state", json!({ "project": "web", "scope": "s", "key": "one", "value": 1 })),
                ("create_dispatch", json!({ "project": "web", "agent_kind": "builder", "prompt": "go on" })),
                ("submit_discovery", json!({ "project": "web", "source": "papers", "source_id": "a", "title": "On rows", "url": "https://x.test" })),
                ("create_run", json!({ "project": "web", "goal": "all", "metadata": { "a": 1, "b": null, "c": [true] } })),
            ];
            let saved = kit.call(Actor::OPERATOR, "save_state", &json!({ "project": "web", "scope": "s", "key": "k", "value": value })).unwrap();
            let first: Vec<_> = others.iter().map(|(name, request)| call(&kit, name, request)).collect();
            kit.run(redact(saved["seq"].as_i64().unwrap())).unwrap();
            for ((name, request), first) in others.iter().zip(&first) {
                assert_eq!(call(&kit, name, request), *first, "{name} after {value}");
            }
        }
    }

    // C2: a title that is also the word for a state
    fn a_title_is_taken_out_of_titles_alone(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let submit = |title: &str| call(&kit, "submit_discovery", &json!({
            "project": "web", "source": "papers", "source_id": title, "title": title, "summary": "new",
        }));
        let (first, other) = (submit("new"), submit("newer"));
        kit.run(redact(first["seq"].as_i64().unwrap())).unwrap();
        let again = submit("new");
        let mut expected = first.clone();
        for field in ["title", "summary"] {
            expected["discovery"][field] = json!("[redacted]");
        }
        assert_eq!(again, expected);
        assert_eq!(again["discovery"]["state"], "new");
        assert_eq!(submit("newer")["discovery"]["title"], other["discovery"]["title"]);
    }

    // C2: however many answers are kept, each loses the words
    fn all_answers_are_looked_at(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let save = |n: i64, prompt: &str| {
            let caller = operator_with_key(&format!("k-{n}"));
            kit.call(caller, "create_dispatch", &json!({ "project": "web", "agent_kind": "builder", "prompt": prompt })).unwrap()
        };
        let before = save(0, SECRET);
        let first = kit.run(redact(before["seq"].as_i64().unwrap()));
        first.unwrap();
        let secret = save(1, SECRET);
        for n in 2..450 {
            save(n, if n % 7 == 0 { SECRET } else { "plain" });
        }
        kit.run(redact(secret["seq"].as_i64().unwrap())).unwrap();
        let text = kit.shell("select answer from idempotency").unwrap();
        assert_eq!((text.matches(SECRET).count(), text.matches("[redacted]").count()), (0, 66));
        assert!(kit.ask(AllText).unwrap().answer.contains(SECRET), "in events of their own");
        assert_eq!(save(3, "plain")["dispatch"]["prompt"], "plain");
    }
    // C2: what somebody wrote under a name of theirs is not ours to compare; and it goes as a whole,
    // whatever was redacted before
    fn what_is_inside_of_free_words_goes_with_all_of_them(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let found = kit.call(Actor::OPERATOR, "submit_discovery", &json!({ "project": "web", "source": "papers", "source_id": "a", "title": "new" })).unwrap();
        let metadata = json!({ "title": "new", "key": SECRET });
        let make = || kit.call(operator_with_key("k"), "create_run", &json!({ "project": "web", "goal": "all", "metadata": metadata })).unwrap();
        let first = make();
        assert_eq!(first["run"]["metadata"], metadata);
        kit.run(redact(found["seq"].as_i64().unwrap())).unwrap();
        assert_eq!(make(), first);
        kit.run(redact(first["seq"].as_i64().unwrap())).unwrap();
        assert_eq!(make()["run"]["metadata"], json!({ "[redacted]": true }));
        assert!(!kit.ask(AllText).unwrap().answer.contains(SECRET));
    }

    // C2: words are found however they are written down
    fn an_answer_loses_words_of_any_kind(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        for (nth, prompt) in ["plain", "a \"b\" \\ 100% _", "two\nlines\t\u{e9}\u{1f600}", "it's"].into_iter().enumerate() {
            let prompt = format!("{SECRET} {prompt}");
            let key = format!("k{nth}");
            let made = || kit.call(operator_with_key(&key), "create_dispatch", &json!({ "project": "web", "agent_kind": "builder", "prompt": prompt })).unwrap();
            let first = made();
            assert_eq!(first["dispatch"]["prompt"], prompt);
            kit.run(redact(first["seq"].as_i64().unwrap())).unwrap();
            assert_eq!(made()["dispatch"]["prompt"], "[redacted]");
        }
        assert!(!kit.ask(AllText).unwrap().answer.contains(SECRET));
    }
}
