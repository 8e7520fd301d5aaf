//! Two projects with agents and their mail, and every kind of credential there is.

use comity_kernel::actor::Party;
use comity_kernel::command::Secret;
use comity_kernel::operation::{self, Operation, Outcome};
use comity_kernel::{Actor, Caller, Error};
use comity_testkit::{Engine, Kit};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::samples::{BLUE, sample};

/// The bytes that the message in Blue's box carries, and their SHA-256.
pub(crate) const CONTENT: &str = "aGVsbG8=";
/// The fence of Blue's lease.
pub(crate) const FENCE: i64 = 16;
/// The fence of Blue's claim.
pub(crate) const CLAIM: i64 = 25;
/// The revision of run 1, and a place in the log at which it was there.
pub(crate) const RUN_REVISION: i64 = 5;
pub(crate) const STANDING_SEQ: i64 = 36;
pub(crate) const SHA256: &str = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

/// `CanaryBlue` has a message, number 1, that the operator has too, is asked for contact 1, and for
/// its lease 1 by `CanaryRed`, who has lease 2 and has been silent since. It has dispatch 1 in hand,
/// 2 waits, and it tried 3 in vain. It
/// takes part in run 1, which waits for run 3; run 2 rests. It submitted discovery 1.
pub(crate) struct World {
    kit: Kit,
    blue: Actor,
    pub(crate) green: Actor,
    observer: Actor,
    pub(crate) elsewhere: Actor,
    blues_token: String,
    revoked_tokens: Vec<String>,
    /// Actors whose credential was good a moment ago.
    pub(crate) stale: Vec<Actor>,
    /// Where copies go; PostgreSQL has no such place of its own.
    _backups: TempDir,
}

impl World {
    pub(crate) fn new(engine: Engine) -> Self {
        let backups = tempfile::tempdir().unwrap();
        let place = backups.path().to_owned();
        let kit = Kit::with(engine, |options| options.backups = Some(place));
        for key in ["/srv/canary-web", "/srv/other"] {
            kit.project(key);
        }
        let token = |name: &str, request: Value| {
            let secret = called(&kit, &Actor::OPERATOR, name, request).secret;
            let issued = secret.and_then(Secret::token);
            issued.expect("a token").secret.reveal()
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
        let stale: Vec<_> = [&retired, &rotated, &revoked]
            .map(|token| actor(token))
            .into();
        write_to_blue(&kit, &stale[1]);
        let fence = hold_and_ask(&kit, &blue, &stale[1]);
        assert_eq!(fence, FENCE);
        assert_eq!(hand_out(&kit, &blue), CLAIM);
        let (revision, seq) = take_part(&kit, &blue);
        assert!(
            revision == RUN_REVISION && seq >= STANDING_SEQ,
            "{revision} at {seq}"
        );
        write_and_read(&kit, &blue);
        keep(&kit, &blue);
        find(&kit, &blue);
        kit.clock.advance_us(16 * 60 * 1_000_000);
        for (name, request) in [
            ("retire_agent", json!({ "agent": 2 })),
            ("rotate_token", json!({ "agent": 4 })),
            ("revoke_token", json!({ "id": 5 })),
        ] {
            called(&kit, &Actor::OPERATOR, name, request);
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
            _backups: backups,
        }
    }

    pub(crate) fn head(&self) -> i64 {
        self.kit.kernel().head().borrow().get()
    }

    pub(crate) fn parties(&self) -> [(Party, Actor); 3] {
        [
            (Party::Operator, Actor::OPERATOR),
            (Party::Agent, self.blue.clone()),
            (Party::Observer, self.observer.clone()),
        ]
    }

    pub(crate) fn one_of(&self, operation: &Operation) -> (Party, Actor) {
        let mut parties = self.parties().into_iter();
        parties
            .find(|(party, _)| is_open_to(operation, *party))
            .unwrap()
    }

    pub(crate) fn bad_tokens(&self) -> Vec<(&'static str, String)> {
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
    pub(crate) fn present(
        &self,
        token: &str,
        operation: &Operation,
        body: Value,
    ) -> Result<Outcome, Error> {
        let actor = self.kit.kernel().authenticate(token).wait()?.answer;
        self.call(&actor, operation, body)
    }

    pub(crate) fn call(
        &self,
        actor: &Actor,
        operation: &Operation,
        body: Value,
    ) -> Result<Outcome, Error> {
        let caller = Caller::from(actor.clone());
        wait((operation.call)(self.kit.kernel(), caller, body))
    }
}

/// Tells whether a party may call an operation: an agent may where any may, and where it may for
/// its own things.
pub(crate) fn is_open_to(operation: &Operation, party: Party) -> bool {
    let itself = party == Party::Agent && operation.who.contains(&Party::Itself);
    itself || operation.who.contains(&party)
}

/// Leaves a message with an attachment in Blue's box and the operator's, and a request for contact.
fn write_to_blue(kit: &Kit, red: &Actor) {
    let operator = &Actor::OPERATOR;
    let content = json!({ "content": CONTENT });
    called(kit, operator, "put_attachment", content);
    let letter = json!({
        "project": "canary-web", "to": ["CanaryBlue", "operator"], "subject": "canary plan",
        "body": "the canary sings", "ack_required": true, "topic": "canary",
        "attachments": [{ "sha256": SHA256, "name": "canary.txt" }],
    });
    called(kit, operator, "send_message", letter);
    let contact = json!({ "agent": "CanaryBlue", "reason": "canary" });
    called(kit, red, "request_contact", contact);
}

/// Has Blue and Red take a lease each, Red ask for Blue's, and Blue and the operator take locks.
fn hold_and_ask(kit: &Kit, blue: &Actor, red: &Actor) -> i64 {
    let reserve = |who: &Actor, path: &str| {
        let request = json!({ "paths": [path], "ttl": "24h" });
        called(kit, who, "reserve_files", request).answer["seq"].as_i64()
    };
    let fence = reserve(blue, "canary/blue").unwrap();
    reserve(red, "canary/red");
    let wish = json!({ "id": 1, "reason": "canary" });
    called(kit, red, "request_release", wish);
    let lock = |name: &str| json!({ "project": "canary-web", "name": name, "ttl": "24h" });
    called(kit, blue, "acquire_lock", lock("canary port"));
    called(kit, &Actor::OPERATOR, "acquire_lock", lock("canary desk"));
    let watch =
        json!({ "project": "canary-web", "name": "canary watch", "scope": "eu", "every": "1h" });
    called(kit, blue, "claim_sentinel", watch);
    comity_testkit::hooks::plant_dead_letter(kit);
    fence
}

/// Has Blue keep something for itself, and something for everybody.
fn keep(kit: &Kit, blue: &Actor) {
    for scope in [json!(null), json!("canary shared")] {
        let state = json!({ "scope": scope, "key": "canary plan", "value": "canary" });
        called(kit, blue, "save_state", state);
    }
}

/// Has Blue claim one dispatch, leave one, and fail at one; returns the fence of the first.
fn hand_out(kit: &Kit, blue: &Actor) -> i64 {
    let create = |kind: &str, group: Option<&str>| {
        let wish = json!({
            "project": "canary-web", "agent_kind": kind, "prompt": "canary song", "group": group,
        });
        called(kit, &Actor::OPERATOR, "create_dispatch", wish);
    };
    let claim = |kind: &str| {
        let wish = json!({ "agent_kinds": [kind], "lease": "24h" });
        let claimed = called(kit, blue, "claim_dispatch", wish).answer;
        claimed["dispatch"]["fence"].as_i64().unwrap()
    };
    create("canary coder", None);
    let fence = claim("canary coder");
    create("canary tester", Some("canary group"));
    create("canary writer", None);
    let vain = json!({ "id": 3, "fence": claim("canary writer"), "outcome": "failed" });
    called(kit, blue, "finish_dispatch", vain);
    fence
}

/// Has the operator make three runs, and Blue take part in the first, which is in its second phase
/// then; returns its revision and where in the log that is.
fn take_part(kit: &Kit, blue: &Actor) -> (i64, i64) {
    let operator = &Actor::OPERATOR;
    let run = json!({
        "project": "canary-web", "goal": "canary goal", "phases": ["a", "b", "c", "d"],
        "gates": { "a->b": [], "b->c": [], "c->d": [] },
    });
    let link = json!({ "downstream": 1, "upstream": 3 });
    let plan = json!({ "run": 1, "phase": "b", "kind": "canary plan", "path": "canary/plan" });
    let part = json!({ "run": 1, "agent": "CanaryBlue", "role": "canary" });
    for (who, name, request) in [
        (operator, "create_run", run.clone()),
        (operator, "create_run", run.clone()),
        (operator, "create_run", run),
        (operator, "pause_run", json!({ "run": 2 })),
        (operator, "link_runs", link),
        (operator, "advance_run", json!({ "run": 1 })),
        (blue, "add_artifact", plan),
        (blue, "add_run_agent", part),
    ] {
        called(kit, who, name, request);
    }
    let standing = called(kit, operator, "run_status", json!({ "run": 1 })).answer;
    let number = |value: &Value| value.as_i64().unwrap();
    (
        number(&standing["run"]["revision"]),
        number(&standing["as_of_seq"]),
    )
}

/// Has Blue begin a stream, and the operator register a consumer of its project.
fn write_and_read(kit: &Kit, blue: &Actor) {
    let said = json!({ "stream": "canary-stream", "kind": "custom.canary", "payload": { "is": "canary" } });
    called(kit, blue, "append_event", said);
    let reader = json!({ "project": "canary-web", "name": "canary-reader", "since": 0 });
    called(kit, &Actor::OPERATOR, "register_consumer", reader);
}

/// Has Blue submit a discovery, and say what the project is interested in.
fn find(kit: &Kit, blue: &Actor) {
    let found = json!({
        "source": "canary feed", "source_id": "canary 1", "title": "canary news",
        "summary": "the canary sings", "embedding": [1, 0], "model": "canary-1", "score": 0.9,
    });
    called(kit, blue, "submit_discovery", found);
    let interests = json!({ "keyword_weights": { "canary": 0.7 } });
    called(kit, blue, "update_interest_profile", interests);
}

fn called(kit: &Kit, actor: &Actor, name: &str, request: Value) -> Outcome {
    let operation = operation::find(name).unwrap();
    let call = (operation.call)(kit.kernel(), actor.clone().into(), request);
    wait(call).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    runtime.unwrap().block_on(future)
}
