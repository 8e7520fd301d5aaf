//! Identity: one row per name and key, and nobody acts as or sees what is not theirs.
//!
//! `COMITY_ROUNDS` says how often the races are run.

use std::collections::BTreeSet;
use std::sync::{Barrier, Mutex};

use comity_kernel::actor::Party;
use comity_kernel::operation::{self, Effect, OPERATIONS, Operation, Outcome};
use comity_kernel::project::EnsureProject;
use comity_kernel::{Actor, Caller, Error};
use comity_testkit::kit::{operator_with_key, register, request};
use comity_testkit::{Engine, Kit, both_engines};
use serde_json::{Value, json};

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
                let code = answer.unwrap_err().code().word;
                let party = actor.must_be_one_of(operation.name, operation.who).is_ok();
                let reads = operation.effect == Effect::Reads;
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
                if !operation.who.contains(&party) {
                    let error = closed.call(&actor, operation, request).unwrap_err();
                    assert!(matches!(error, Error::Forbidden { .. }), "{}: {error}", operation.name);
                    assert!(!error.hint().is_empty());
                    continue;
                }
                // It may change anything, so it has a world of its own.
                let open = World::new(engine);
                let answer = open.call(&actor, operation, request);
                assert!(answer.is_ok(), "{} as {actor}: {answer:?}", operation.name);
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
                if !operation.who.contains(&party) {
                    continue;
                }
                for subject in SPELLINGS {
                    let request = sample_of(party, operation, subject);
                    let names_one = request.get("project").or(request.get("agent")).is_some();
                    match world.call(actor, operation, request.clone()) {
                        Ok(outcome) => {
                            assert!(!names_one, "{} {request}", operation.name);
                            assert!(!tells(&outcome.answer), "{}", outcome.answer);
                        }
                        Err(error) => {
                            assert_eq!(error.code().word, "not_found", "{}: {error}", operation.name);
                            assert!(!tells(&json!(error.hint())), "{}", error.hint());
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
            let (_, actor) = world.one_of(operation.who);
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
                for wrong in wrong_for(field) {
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

/// Two projects with agents, and every kind of credential there is.
struct World {
    kit: Kit,
    blue: Actor,
    green: Actor,
    observer: Actor,
    elsewhere: Actor,
    blues_token: String,
    revoked_tokens: Vec<String>,
    stale: Vec<Actor>,
}

/// The other project's agent as a stranger may name it.
struct Subject {
    agent: &'static str,
    project: Option<&'static str>,
}

const BLUE: Subject = Subject::new("CanaryBlue", Some("/srv/canary-web"));
const SPELLINGS: &[Subject] = &[
    BLUE,
    Subject::new("1", Some("canary-web")),
    Subject::new("1", None),
    Subject::new("CanaryBlue", None),
    Subject::new("CanaryBlu", Some("canary-we")),
];

impl Subject {
    const fn new(agent: &'static str, project: Option<&'static str>) -> Self {
        Self { agent, project }
    }
}

impl World {
    fn new(engine: Engine) -> Self {
        let kit = Kit::new(engine);
        for key in ["/srv/canary-web", "/srv/other"] {
            kit.project(key);
        }
        let token = |name: &str, request: Value| {
            let operation = operation::find(name).unwrap();
            let called = (operation.call)(kit.kernel(), Actor::OPERATOR.into(), request);
            wait(called)
                .unwrap()
                .issued
                .expect("a token")
                .secret
                .reveal()
        };
        let agent = |project: &str, name: &str| {
            // As the sample has it, so that resuming with the sample changes nothing.
            let mut request = sample(operation::find("register_agent").unwrap(), &BLUE);
            request["project"] = json!(project);
            request["name"] = json!(name);
            token("register_agent", request)
        };
        let actor = |token: &str| kit.kernel().authenticate(token).wait().unwrap().answer;
        let blues_token = agent("canary-web", "CanaryBlue");
        let retired = agent("canary-web", "CanaryOld");
        let green = actor(&agent("other", "Green"));
        let rotated = agent("canary-web", "CanaryRed");
        let revoked = token("create_token", json!({ "role": "operator" }));
        let observer = actor(&token("create_token", json!({ "role": "observer" })));
        let bound = json!({ "role": "observer", "project": "other" });
        let elsewhere = actor(&token("create_token", bound));
        let blue = actor(&blues_token);
        let stale = [&retired, &rotated, &revoked]
            .map(|token| actor(token))
            .into();
        for (name, request) in [
            ("retire_agent", json!({ "agent": 2 })),
            ("rotate_token", json!({ "agent": 4 })),
            ("revoke_token", json!({ "id": 5 })),
        ] {
            let operation = operation::find(name).unwrap();
            wait((operation.call)(
                kit.kernel(),
                Actor::OPERATOR.into(),
                request,
            ))
            .unwrap();
        }
        Self {
            blue,
            green,
            observer,
            elsewhere,
            blues_token,
            revoked_tokens: vec![retired, rotated, revoked],
            stale,
            kit,
        }
    }

    fn head(&self) -> i64 {
        self.kit.kernel().head().borrow().get()
    }

    fn parties(&self) -> [(Party, Actor); 3] {
        [
            (Party::Operator, Actor::OPERATOR),
            (Party::Agent, self.blue.clone()),
            (Party::Observer, self.observer.clone()),
        ]
    }

    fn one_of(&self, who: &[Party]) -> (Party, Actor) {
        let mut parties = self.parties().into_iter();
        parties.find(|(party, _)| who.contains(party)).unwrap()
    }

    fn bad_tokens(&self) -> Vec<(&'static str, String)> {
        let (head, last) = self.blues_token.split_at(self.blues_token.len() - 1);
        let other = if last == "0" { "1" } else { "0" };
        let mut bad = vec![
            ("no token", String::new()),
            ("garbage", "comity_\0_Blue".to_owned()),
            (
                "an unknown number",
                format!("comity_999_{}", "0".repeat(64)),
            ),
            ("a wrong secret", format!("{head}{other}")),
            (
                "another's secret",
                self.blues_token.replace("comity_1_", "comity_3_"),
            ),
        ];
        let revoked = ["a retired agent's", "a rotated one", "a revoked one"];
        bad.extend(revoked.into_iter().zip(self.revoked_tokens.iter().cloned()));
        bad
    }

    /// Does as every surface does: asks who presents the token, then calls.
    fn present(&self, token: &str, operation: &Operation, body: Value) -> Result<Outcome, Error> {
        let actor = self.kit.kernel().authenticate(token).wait()?.answer;
        self.call(&actor, operation, body)
    }

    fn call(&self, actor: &Actor, operation: &Operation, body: Value) -> Result<Outcome, Error> {
        let caller = Caller::from(actor.clone());
        wait((operation.call)(self.kit.kernel(), caller, body))
    }
}

/// A good request of each operation with every field it has, about this agent and project.
fn sample(operation: &Operation, subject: &Subject) -> Value {
    let about = |mut request: Value| {
        if let Some(project) = subject.project {
            request["project"] = json!(project);
        }
        request
    };
    let agent = subject.agent;
    match operation.name {
        "ensure_project" => json!({ "key": "/srv/new", "name": "New" }),
        "update_project" => about(json!({
            "name": "Web", "case_insensitive": true, "guard_mode": "warn", "guard_away": "block",
            "grace": "5m", "leases_per_agent": 5, "expected_revision": 1,
        })),
        "list_projects" | "list_tokens" => json!({ "limit": 5, "after": "0" }),
        "project_status" => about(json!({})),
        "create_token" => about(json!({ "role": "observer", "name": "wall" })),
        "revoke_token" => json!({ "id": 1 }),
        "register_agent" => about(json!({
            "name": "CanaryNew", "program": "p", "model": "m", "task": "t",
            "capabilities": ["c"], "metadata": { "k": 1 }, "rights": [],
        })),
        "orient" => json!({}),
        "list_agents" => about(json!({
            "active_within": "1h", "capability": "c", "limit": 5, "after": "0",
        })),
        "get_agent" | "rotate_token" => about(json!({ "agent": agent })),
        "retire_agent" => about(json!({ "agent": agent, "reason": "done" })),
        "heartbeat" => json!({ "status": "working", "focus": "tests" }),
        "update_agent" => about(json!({
            "agent": agent, "program": "p", "model": "m", "task": "t", "capabilities": ["c"],
            "metadata": { "k": 1 }, "rights": [], "expected_revision": 1,
        })),
        other => panic!("`{other}` needs a sample here"),
    }
}

/// The same for a party: an agent registers as itself, whatever its name.
fn sample_of(party: Party, operation: &Operation, subject: &Subject) -> Value {
    let mut request = sample(operation, subject);
    if let ("register_agent", Party::Agent, Value::Object(fields)) =
        (operation.name, party, &mut request)
    {
        fields.remove("name");
    }
    request
}

/// Values that a field must refuse.
fn wrong_for(field: &str) -> Vec<Value> {
    match field {
        "key" => [
            no_line(1_024),
            vec![json!("/a/../b"), json!("/a/"), json!("a//b")],
        ]
        .concat(),
        "project" => no_line(1_024),
        "name" | "program" | "model" | "capability" | "status" | "focus" => no_line(128),
        "agent" => [no_line(64), look_alikes()].concat(),
        "task" | "reason" => vec![
            json!(1),
            json!("a\0b"),
            json!("\u{1b}"),
            json!("x".repeat(4_097)),
        ],
        "capabilities" => {
            let many: Vec<_> = (0..33).map(|n| n.to_string()).collect();
            vec![
                json!("c"),
                json!([1]),
                json!(["a\0"]),
                json!([""]),
                json!(many),
            ]
        }
        "metadata" => vec![
            json!([]),
            json!("k"),
            json!({ "k": "x".repeat(16 * 1_024) }),
        ],
        "rights" => vec![json!("orchestrate"), json!(["Orchestrate"]), json!([null])],
        "role" => vec![json!(1), json!("Operator"), json!("root"), json!("agent")],
        "guard_mode" | "guard_away" => vec![json!(1), json!("Block"), json!("no")],
        "grace" => vec![
            json!(5),
            json!("5"),
            json!("-5m"),
            json!("8 days and a bit"),
            json!("200h"),
        ],
        "active_within" => vec![json!(5), json!("5"), json!("-5m"), json!("1e999s")],
        "case_insensitive" => vec![json!(1), json!("true")],
        "leases_per_agent" => vec![json!(0), json!(-1), json!(1e9), json!(100_001), json!("5")],
        "limit" => vec![json!(0), json!(501), json!(-1), json!("5"), json!(1e300)],
        "after" => vec![
            json!(5),
            json!("-1"),
            json!("x"),
            json!("9223372036854775808"),
        ],
        "id" => vec![json!(0), json!(-1), json!("1"), json!(1.5), json!(1e30)],
        "expected_revision" => vec![json!("1"), json!(1.5), json!(true), json!(1e30)],
        other => panic!("`{other}` needs wrong values here"),
    }
}

/// What is no line of at most this many bytes.
fn no_line(bytes_max: usize) -> Vec<Value> {
    let long = "x".repeat(bytes_max + 1);
    let texts = [
        "",
        " ",
        "a\0b",
        "a\nb",
        "a\u{1b}[2J",
        "a\u{202e}b",
        "\u{feff}a",
        &long,
    ];
    let others = [json!(true), json!(1.5), json!([]), json!({})];
    others.into_iter().chain(texts.map(Value::from)).collect()
}

/// Texts that look like an agent's name and are none (E1).
fn look_alikes() -> Vec<Value> {
    let long = "x".repeat(65);
    let looks = [
        "C\u{430}naryBlue",
        "\u{ff23}anaryBlue",
        "CanaryBlue\u{200d}",
        "CanaryBlu\u{65}\u{301}",
        "Canary Blue",
        "CanaryBlue ",
        "@CanaryBlue",
        "operator",
        "SYSTEM",
        "0",
        "-1",
        "..",
        &long,
    ];
    looks.map(Value::from).into()
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

fn wait<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(future)
}
