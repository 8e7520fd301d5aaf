//! First answers that are kept under a key: they lose the words, and nothing else.

use comity_kernel::Actor;
use comity_kernel::actor::{Caller, IdempotencyKey};
use comity_testkit::kit::operator_with_key;
use comity_testkit::{Engine, Kit, both_engines};
use serde_json::{Value, json};

use super::kept::secrets;
use super::{AllText, SECRET, holding, redact};

const HOUR_US: i64 = 3_600_000_000;

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

    // C2: each of several words is kept, and an answer with more than are kept is found
    fn an_answer_with_very_many_words_is_found(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let (_, blue) = kit.agent("web", "Blue");
        let lease = |n: usize| {
            let lease = json!({ "paths": [format!("src/{n}")], "reason": format!("{SECRET}-{n}") });
            let leased = kit.call(blue.clone(), "reserve_files", &lease).unwrap();
            (leased["reservations"][0]["id"].clone(), leased["seq"].as_i64().unwrap())
        };
        let leases: Vec<_> = (0..20).map(lease).collect();
        let renew = |count: usize| {
            let caller = Caller::from(blue.clone()).with_key(IdempotencyKey::parse(format!("k-{count}")).unwrap());
            let ids: Vec<_> = leases.iter().take(count).map(|(id, _)| id).collect();
            kit.call(caller, "renew", &json!({ "ids": ids })).unwrap().to_string()
        };
        for count in [7, 20] {
            assert_eq!(renew(count).matches(SECRET).count(), count);
        }
        assert_eq!(kit.shell("select key, words_kept from idempotency order by key").unwrap(), "k-20|0\nk-7|1");
        assert_eq!(kit.shell("select count(*) from answer_word").unwrap(), "7");
        for (_, seq) in &leases {
            kit.run(redact(*seq)).unwrap();
        }
        for count in [7, 20] {
            assert_eq!(renew(count).matches("[redacted]").count(), count);
        }
        assert!(!kit.ask(AllText).unwrap().answer.contains(SECRET));
    }

    // C2: what was answered before the words were kept is found
    fn an_answer_whose_words_are_not_kept_is_found(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let made = |key: &str| kit.call(operator_with_key(key), "create_dispatch", &json!({ "project": "web", "agent_kind": "builder", "prompt": SECRET })).unwrap();
        let first = made("old");
        kit.fill("update idempotency set words_kept = 0;\ndelete from answer_word;\n").unwrap();
        made("new");
        kit.run(redact(first["seq"].as_i64().unwrap())).unwrap();
        for key in ["old", "new"] {
            assert_eq!(made(key)["dispatch"]["prompt"], "[redacted]", "{key}");
        }
    }

    // C2: an answer to another request in the place of one that is too old has its own words
    fn a_key_that_is_used_again_is_found_by_its_new_words(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let made = |prompt: &str| kit.call(operator_with_key("k"), "create_dispatch", &json!({ "project": "web", "agent_kind": "builder", "prompt": prompt })).unwrap();
        made("plain");
        kit.clock.advance_us(25 * HOUR_US);
        let second = made(SECRET);
        kit.run(redact(second["seq"].as_i64().unwrap())).unwrap();
        assert_eq!(made(SECRET)["dispatch"]["prompt"], "[redacted]");
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

    // The words go with the answers, block by block, and with a redaction
    fn no_word_stays_longer_than_its_answer(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let made = |key: &str, prompt: &str| kit.call(operator_with_key(key), "create_dispatch", &json!({ "project": "web", "agent_kind": "builder", "prompt": prompt })).unwrap();
        let words = || kit.shell("select count(*) from answer_word").unwrap();
        let next_block = |name: &str| for n in 0..256 {
            kit.project(&format!("/srv/{name}-{n}"));
        };
        let tidy = || kit.kernel().tidy().wait().unwrap();
        let secret = made("a", SECRET);
        assert_eq!(words(), "1");
        kit.run(redact(secret["seq"].as_i64().unwrap())).unwrap();
        assert_eq!(words(), "0", "a short word can be guessed by its number");
        made("b", "plain");
        next_block("one");
        kit.clock.advance_us(2 * HOUR_US);
        let late = made("c", SECRET);
        made("d", "plain");
        assert_eq!(words(), "3");
        kit.clock.advance_us(23 * HOUR_US);
        tidy();
        assert_eq!((words(), kit.shell("select key from idempotency order by key").unwrap()), ("2".to_owned(), "c\nd".to_owned()));
        next_block("two");
        made("e", SECRET);
        kit.run(redact(late["seq"].as_i64().unwrap())).unwrap();
        for key in ["c", "e"] {
            assert_eq!(made(key, SECRET)["dispatch"]["prompt"], "[redacted]");
        }
        assert_eq!(words(), "1");
        kit.clock.advance_us(25 * HOUR_US);
        tidy();
        assert_eq!(words(), "0");
    }

    // A redaction reads the answers that hold the words, and those whose words are not kept
    fn no_other_answer_is_read(engine) {
        let kit = Kit::new(engine);
        let said = secrets(&kit);
        assert!(said.len() > 40);
        let hidden = "insert into idempotency (credential, operation, key, request_sha256, answer, seq, lease_us, words_kept)
            select credential, operation, 'hidden-' || key, request_sha256, answer, 1000000000, lease_us, 1 from idempotency;\n";
        kit.fill(hidden).unwrap();
        let shown = || kit.shell("select answer from idempotency where key like 'hidden-%' order by operation, key").unwrap();
        let before = shown();
        assert!(before.contains(SECRET));
        for event in holding(&kit) {
            kit.run(redact(event.seq.get())).unwrap();
        }
        assert_eq!(shown(), before);
        assert_eq!(kit.shell("select count(*) from idempotency where words_kept = 0").unwrap(), "0");
    }
}

/// How a redaction asks for answers, and the index that must answer it.
const QUESTIONS: [(&str, &[&str]); 3] = [
    (
        "with recursive b (block) as (
            select min(block) from answer_word where block >= ?1
            union all
            select (select min(block) from answer_word where block > b.block) from b
            where b.block is not null)
         select b.block from b where exists (
            select 1 from answer_word w where w.block = b.block and w.word = ?2)",
        &[
            "SEARCH answer_word USING PRIMARY KEY (block>?)",
            "SEARCH w USING PRIMARY KEY (block=? AND word=?)",
        ],
    ),
    (
        "select credential, operation, key, answer from idempotency
            where words_kept = 0 and seq >= ?1
                and (credential, operation, key) > (?2, ?3, ?4)
            order by credential, operation, key limit ?5",
        &["idempotency_wordless ((credential,operation,key)>(?,?,?))"],
    ),
    (
        "select w.credential, w.operation, w.key, i.answer from answer_word w
            join idempotency i on i.credential = w.credential
                and i.operation = w.operation and i.key = w.key
            where w.block = ?6 and w.word = ?7 and i.seq >= ?1
                and (w.credential, w.operation, w.key) > (?2, ?3, ?4)
            order by w.credential, w.operation, w.key limit ?5",
        &[
            "SEARCH w USING PRIMARY KEY (block=? AND word=? AND (credential,operation,key)>(?,?,?))",
            "SEARCH i USING PRIMARY KEY (credential=? AND operation=? AND key=?)",
        ],
    ),
];

// SQLite alone shows its plan without data; PostgreSQL plans by what it finds
#[test]
fn answers_with_words_are_found_by_an_index() {
    let kit = Kit::new(Engine::Sqlite);
    for (question, steps) in QUESTIONS {
        let plan = kit
            .shell(&format!("explain query plan {question}"))
            .unwrap();
        let is_found = steps.iter().all(|step| plan.contains(step));
        assert!(
            is_found && !plan.contains("SCAN answer") && !plan.contains("TEMP B-TREE"),
            "{plan}"
        );
    }
}
