//! Identity: one row per name and key, and nobody acts as or sees what is not theirs.
//!
//! `COMITY_ROUNDS` says how often the races are run.

mod discovery_samples;
mod event_samples;
mod run_samples;
mod samples;
mod world;

use std::collections::BTreeSet;
use std::sync::{Barrier, Mutex};

use comity_kernel::actor::Party;
use comity_kernel::operation::{self, Effect, OPERATIONS, Operation, Pace};
use comity_kernel::project::EnsureProject;
use comity_kernel::{Actor, Error};
use comity_testkit::kit::{operator_with_key, register, request};
use comity_testkit::{Engine, Kit, both_engines};
use serde_json::{Value, json};

use self::samples::{BLUE, SPELLINGS, look_alikes, sample, sample_of, wrong_for};
use self::world::{World, is_open_to};

both_engines! {
    // E1 E2 E3
    fn one_of_many_gets_a_name_however_it_is_spelt(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        println!("identity: {} rounds of 64, {engine:?}", rounds());
        for round in 0..rounds() {
            let name = |n| format!("{}{round}", spelt("bluefox", n));
            let answers = at_once(64, |n| kit.run(register("web", &name(n))));
            let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
            let [Ok(won)] = won.as_slice() else {
                panic!("round {round}: {} were created", won.len());
            };
            assert!(won.answer.created && won.answer.secret.is_some());
            for answer in lost {
                let Err(Error::NameTaken { name, agent }) = answer else {
                    panic!("round {round}: {answer:?}");
                };
                assert_eq!((&name, agent), (&won.answer.agent.name, won.answer.agent.id.get()));
            }
        }
    }

    // E1 E3
    fn one_key_is_one_project_whoever_asks_first(engine) {
        let kit = Kit::new(engine);
        for round in 0..rounds() {
            let ensure = json!({ "key": format!("/srv/{round}") });
            let answers = at_once(64, |_| kit.run(request::<EnsureProject>(&ensure)).unwrap());
            let created = answers.iter().filter(|reply| reply.answer.created).count();
            let ids: BTreeSet<_> = answers.iter().map(|reply| reply.answer.project.id).collect();
            assert_eq!((created, ids.len()), (1, 1), "round {round}");
        }
    }

    // C2
    fn one_idempotency_key_takes_effect_once(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        for round in 0..rounds() {
            let caller = operator_with_key(&format!("round {round}"));
            let command = register("web", &format!("Blue{round}"));
            let answers = at_once(16, |_| kit.run_as(caller.clone(), command.clone()).unwrap());
            let firsts = answers.iter().filter(|reply| !reply.replayed);
            assert_eq!(firsts.filter(|reply| reply.answer.secret.is_some()).count(), 1);
            assert_eq!(answers.iter().filter(|reply| reply.replayed).count(), 15);
            for reply in &answers {
                assert_eq!((&reply.answer.agent, reply.seq), (&answers[0].answer.agent, answers[0].seq));
                assert!(reply.answer.created);
            }
        }
    }

    // E5 S19
    fn no_operation_listens_to_a_bad_credential(engine) {
        let world = World::new(engine);
        let before = world.head();
        for operation in OPERATIONS {
            for (what, token) in world.bad_tokens() {
                let answer = world.present(&token, operation, sample(operation, &BLUE));
                let code = answer.unwrap_err().code().word;
                assert_eq!(code, "unauthorized", "{} with {what}", operation.name);
            }
            // Checked at the door a moment before: everybody must look again.
            for actor in &world.stale {
                let answer = world.call(actor, operation, sample(operation, &BLUE));
                let party = actor.must_be_one_of(operation.name, operation.who).is_ok();
                if operation.pace == Pace::Long && party {
                    // It runs beside every transaction, so nothing here looks at the token again:
                    // surfaces ask who calls anew before long work, whomever they knew (E5). See
                    // `every_route_asks_who_calls_before_it_reads_what_they_want`.
                    must_answer_unless_unusable(engine, operation, answer);
                    continue;
                }
                let code = answer.unwrap_err().code().word;
                // A sign of life is answered like a read, and long work beside the readers.
                let reads = (operation.effect == Effect::Reads && operation.pace != Pace::Long)
                    || operation.name == "heartbeat";
                let expected = if party || reads { "unauthorized" } else { "forbidden" };
                assert_eq!(code, expected, "{} as {actor}", operation.name);
            }
        }
        assert_eq!(world.head(), before);
    }

    // E5
    fn an_operation_is_open_to_exactly_those_it_names(engine) {
        let closed = World::new(engine);
        let before = closed.head();
        for operation in OPERATIONS {
            for (party, actor) in closed.parties() {
                let request = sample_of(party, operation, &BLUE);
                if !is_open_to(operation, party) {
                    let error = closed.call(&actor, operation, request).unwrap_err();
                    assert!(matches!(error, Error::Forbidden { .. }), "{}: {error}", operation.name);
                    assert!(!error.hint().is_empty());
                    continue;
                }
                // It may change anything, so it has a world of its own.
                let open = World::new(engine);
                let answer = open.call(&actor, operation, request);
                must_answer_unless_unusable(engine, operation, answer);
            }
        }
        assert_eq!(closed.head(), before);
    }

    // E4 E5 S20
    fn another_projects_things_are_not_there(engine) {
        let world = World::new(engine);
        let before = world.head();
        let strangers = [(Party::Agent, &world.green), (Party::Observer, &world.elsewhere)];
        for operation in OPERATIONS {
            for (party, actor) in strangers {
                if !is_open_to(operation, party) {
                    continue;
                }
                for subject in SPELLINGS {
                    let request = sample_of(party, operation, subject);
                    // What is to belong to a run says so in its own words.
                    let things: &[_] = match operation.name {
                        "reserve_files" | "acquire_lock" => &["project"],
                        _ => &["project", "agent", "claimed_by", "id", "ids", "run", "sha256"],
                    };
                    let names_one = things.iter().any(|thing| request.get(thing).is_some());
                    if !names_one && operation.effect.writes() {
                        // It is about the stranger's own project.
                        continue;
                    }
                    // Whoever is written to is looked for where mail goes, not where things are.
                    let code = match operation.name {
                        "request_contact" => "unknown_recipient",
                        _ => "not_found",
                    };
                    match world.call(actor, operation, request.clone()) {
                        Ok(outcome) => {
                            assert!(!names_one, "{} {request}", operation.name);
                            assert!(!tells(&outcome.answer), "{}", outcome.answer);
                        }
                        Err(error) => {
                            assert_eq!(error.code().word, code, "{}: {error}", operation.name);
                            assert!(!tells(&json!(error.hint())), "{}", error.hint());
                            assert!(error.to_json()["near"].is_null(), "{error}");
                        }
                    }
                }
            }
        }
        assert_eq!(world.head(), before);
    }

    // S6 S7, and what decoding promises, through every operation
    fn a_bad_field_is_named_and_changes_nothing(engine) {
        let world = World::new(engine);
        let before = world.head();
        for operation in OPERATIONS {
            let (_, actor) = world.one_of(operation);
            let good = sample(operation, &BLUE);
            let refuse = |field: &str, value: Value| {
                let mut request = good.clone();
                request[field] = value;
                let error = world.call(&actor, operation, request.clone()).unwrap_err();
                let shown = error.to_json();
                assert_eq!(shown["error"], "invalid", "{} {request}: {error}", operation.name);
                let named = shown["field"].as_str().unwrap();
                assert!(named.starts_with(field), "{} {request}: {error}", operation.name);
                assert!(!error.hint().is_empty());
                error
            };
            refuse("zzzzzz", json!(1));
            for (field, value) in good.as_object().unwrap() {
                let slip = format!("{field}x");
                let rule = refuse(&slip, value.clone()).to_string();
                assert!(rule.contains(&format!("did you mean `{field}`")), "{rule}");
                for wrong in wrong_for(operation, field) {
                    refuse(field, wrong);
                }
            }
            if operation.name == "register_agent" {
                for wrong in look_alikes() {
                    refuse("name", wrong); // E1
                }
            }
            for request in [json!([]), json!("x"), json!(7), Value::Null] {
                let error = world.call(&actor, operation, request).unwrap_err();
                assert_eq!(error.code().word, "invalid", "{}", operation.name);
            }
        }
        assert_eq!(world.head(), before);
    }

    // S7: refused everywhere, so also where an owner may keep what it wants
    fn metadata_holds_no_nul(engine) {
        let world = World::new(engine);
        let before = world.head();
        for metadata in [json!({ "k": "a\0b" }), json!({ "a\0b": 1 }), json!({ "k": [["\0"]] })] {
            for name in ["register_agent", "update_agent"] {
                let operation = operation::find(name).unwrap();
                let mut request = sample(operation, &BLUE);
                request["metadata"] = metadata.clone();
                let answer = world.call(&Actor::OPERATOR, operation, request);
                let error = answer.expect_err("NUL is refused");
                assert_eq!(error.to_json()["error"], "invalid", "{name}: {error}");
            }
        }
        assert_eq!(world.head(), before);
    }

    // E1 E4 S6 S20
    fn what_is_not_there_is_not_found_and_changes_nothing(engine) {
        let world = World::new(engine);
        let before = world.head();
        let not_found = |name: &str, request: Value, near: &str| {
            let operation = operation::find(name).unwrap();
            let error = world.call(&Actor::OPERATOR, operation, request.clone()).unwrap_err();
            assert_eq!(error.code().word, "not_found", "{name} {request}: {error}");
            assert!(error.hint().contains(near) && !error.hint().is_empty(), "{}", error.hint());
        };
        for name in ["get_agent", "update_agent", "rotate_token", "retire_agent"] {
            not_found(name, json!({ "agent": 999 }), "list");
            not_found(name, json!({ "agent": i64::MAX }), "list");
            not_found(name, json!({ "agent": "CanaryBlu", "project": "canary-web" }), "`CanaryBlue`");
            not_found(name, json!({ "agent": "Green", "project": "canary-web" }), "");
            not_found(name, json!({ "agent": 3, "project": "canary-web" }), "");
            not_found(name, json!({ "agent": "CanaryBlue", "project": "canary-wbe" }), "`canary-web`");
        }
        not_found("revoke_token", json!({ "id": 999 }), "list");
        for id in [999, i64::MAX] {
            for name in ["get_message", "thread", "thread_summary"] {
                not_found(name, json!({ "id": id }), "list");
            }
            not_found("reply", json!({ "id": id, "body": "b" }), "list");
            not_found("forward", json!({ "id": id, "to": ["operator"] }), "list");
            not_found("answer_contact", json!({ "id": id, "answer": "approve" }), "list");
            for name in ["read_messages", "acknowledge"] {
                not_found(name, json!({ "ids": [1, id] }), "list");
            }
            not_found("get_reservation", json!({ "id": id }), "list");
            not_found("force_release", json!({ "id": id, "reason": "r" }), "list");
        }
        not_found("get_attachment", json!({ "sha256": "0".repeat(64) }), "list");
        for name in ["inbox", "threads", "search"] {
            let mut request = sample(operation::find(name).unwrap(), &BLUE);
            request["agent"] = json!("CanaryBlu");
            not_found(name, request.clone(), "`CanaryBlue`");
            // A project that is named is looked for, whether or not an agent is.
            request["project"] = json!("canary-wbe");
            not_found(name, request.clone(), "`canary-web`");
            request.as_object_mut().unwrap().remove("agent");
            not_found(name, request, "`canary-web`");
        }
        for name in ["update_project", "project_status", "list_agents", "register_agent"] {
            let mut request = sample(operation::find(name).unwrap(), &BLUE);
            // The second letter is Cyrillic.
            request["project"] = json!("/srv/c\u{430}nary-web");
            not_found(name, request, "");
        }
        let error = operation::find("regster_agent").err().unwrap();
        assert_eq!(error.hint(), "did you mean `register_agent`?");
        assert_eq!(world.head(), before);
    }
}

/// Fails unless it was done, or it is a copy of a server's database: PostgreSQL has its own tools.
/// Of the archive whoever writes it answers, and here is nobody.
fn must_answer_unless_unusable(
    engine: Engine,
    operation: &Operation,
    answer: Result<operation::Outcome, Error>,
) {
    match answer {
        Err(Error::Unusable { .. }) if operation.name == "backup" => {
            assert_eq!(engine, Engine::Postgres);
        }
        Err(Error::Unusable { .. }) if answered_by_the_archivist(operation) => {}
        answer => assert!(answer.is_ok(), "{}: {answer:?}", operation.name),
    }
}

fn answered_by_the_archivist(operation: &Operation) -> bool {
    operation.name.starts_with("archive_") || matches!(operation.name, "export" | "prune")
}

/// Tells whether an answer names anything of the other project.
fn tells(answer: &Value) -> bool {
    answer.to_string().to_lowercase().contains("canary")
}

/// Spells a name in the `n`-th of 64 ways.
fn spelt(name: &str, n: usize) -> String {
    let letters = name.chars().enumerate();
    letters
        .map(|(at, letter)| match n >> at & 1 {
            1 => letter.to_ascii_uppercase(),
            _ => letter,
        })
        .collect()
}

fn rounds() -> usize {
    let rounds = std::env::var("COMITY_ROUNDS").ok();
    rounds.and_then(|rounds| rounds.parse().ok()).unwrap_or(10)
}

/// Does something in many threads that start together.
fn at_once<T: Send>(threads: usize, act: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let (barrier, answers) = (Barrier::new(threads), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for n in 0..threads {
            let (barrier, answers, act) = (&barrier, &answers, &act);
            scope.spawn(move || {
                barrier.wait();
                let answer = act(n);
                answers.lock().unwrap().push(answer);
            });
        }
    });
    answers.into_inner().unwrap()
}
