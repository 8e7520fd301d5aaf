//! Golden logs: what released versions wrote, kept for ever (K6).
//!
//! A golden log is a log and the rows its version projected from it. Today's program must bring
//! both to the same state: the rows by migration, the log by replay.

mod checkpoint;
mod discoveries;
mod runs;
mod sql;
mod state;
mod streams;

use std::collections::BTreeMap;

use comity_domain::token::{from_hex, to_hex};
use comity_domain::{ProjectId, Seq, Timestamp};
use comity_kernel::actor::Correlation;
use comity_kernel::command::Secret;
use comity_kernel::epoch::{AskStanding, LostEnd, begin_epoch};
use comity_kernel::log::Recorded;
use comity_kernel::log::state_hash::PROJECTED;
use comity_kernel::log::table::page;
use comity_kernel::store::{StoreError, Value};
use comity_kernel::tx::{Read, Snapshot};
use comity_kernel::{Actor, Caller, Error, Party, Query, operation};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{Engine, Kit};

/// What a released version wrote.
#[derive(Serialize, Deserialize)]
pub struct Golden {
    /// The version.
    pub version: String,
    /// The number of its schema.
    pub schema: usize,
    /// Its log.
    pub events: Vec<Written>,
    /// The rows of its projected tables: integers, texts and nulls; blobs as `{"hex": …}`.
    pub tables: BTreeMap<String, Vec<serde_json::Value>>,
    /// What it indexed of each message, which is off the log: number, tokens of the subject, of the
    /// body. No token stands more than 256 times in a message here, so none was skipped.
    pub words: Indexed,
    /// The same of each discovery: tokens of the title, of the summary.
    #[serde(default)]
    pub discovery_words: Indexed,
}

/// What is indexed of each text by its number: the tokens of its head, and of its body.
pub type Indexed = BTreeMap<i64, [Vec<String>; 2]>;

/// One event, as text.
#[derive(Serialize, Deserialize)]
pub struct Written {
    seq: i64,
    at_us: i64,
    v: i64,
    kind: String,
    project: Option<i64>,
    actor: String,
    subject_type: String,
    subject_id: i64,
    run: Option<i64>,
    correlation: Option<String>,
    payload_sha256: String,
    payload: Option<String>,
    hash: String,
}

/// Returns every golden log.
pub fn all() -> Vec<Golden> {
    let read = |text| serde_json::from_str(text).expect("a golden log");
    vec![read(include_str!("../golden/0.1.0.json"))]
}

impl Golden {
    /// Returns the log as the kernel reads it.
    pub fn log(&self) -> Vec<Recorded> {
        self.events.iter().map(recorded).collect()
    }
}

/// Writes the golden log of this version.
pub fn write() -> String {
    let mut kit = Kit::new(Engine::Sqlite);
    scenario(&kit);
    new_epoch(&mut kit);
    call(
        &kit,
        &Actor::OPERATOR,
        "ensure_project",
        json!({ "key": "/srv/anew" }),
    );
    let golden = kit.ask(Whole).expect("the database").answer;
    serde_json::to_string_pretty(&golden).expect("JSON") + "\n"
}

/// Goes on in a new epoch, as after the loss of a few events.
pub fn new_epoch(kit: &mut Kit) {
    let standing = kit.kernel().query(Actor::System, AskStanding).wait();
    let standing = standing.expect("a standing").answer;
    let lost = LostEnd {
        epoch: standing.epoch.clone(),
        through: Seq::new(standing.seq.get() + 5),
        largest: 0,
        standing,
    };
    kit.stop();
    begin_epoch(kit.options(), &lost).expect("a new epoch");
    kit.restart();
}

/// Does everything that leaves an event of an operation, at least once.
pub fn scenario(kit: &Kit) {
    let call = |name: &str, request: serde_json::Value| {
        call(kit, &Actor::OPERATOR, name, request);
    };
    call(
        "ensure_project",
        json!({ "key": "/srv/web", "name": "The Web's" }),
    );
    call(
        "ensure_project",
        json!({ "key": "/srv/日本", "name": "日本" }),
    );
    call(
        "update_project",
        json!({ "project": "web", "guard_mode": "warn", "grace": "1h", "case_insensitive": true }),
    );
    call(
        "create_token",
        json!({ "role": "observer", "project": "web", "name": "wall" }),
    );
    call("create_token", json!({ "role": "operator" }));
    call(
        "register_agent",
        json!({
            "project": "web", "name": "Blue", "program": "codex", "model": "m-1", "task": "two\nlines",
            "capabilities": ["rust", "sql"], "metadata": { "z": 0.1, "a": [1, null, "é"] }, "rights": ["orchestrate"],
        }),
    );
    call(
        "register_agent",
        json!({ "project": "project", "program": "gemini", "model": "m-2" }),
    );
    call(
        "update_agent",
        json!({ "agent": "blue", "project": "web", "capabilities": ["go"], "rights": [] }),
    );
    let (red, gray) = mail(kit);
    leases(kit, &red, &gray);
    dispatches(kit, &red, &gray);
    runs::runs(kit, &red);
    state::state(kit, &red, &gray);
    discoveries::discoveries(kit, &red);
    streams::streams(kit, &red);
    let blue = authenticated(kit, "rotate_token", json!({ "agent": 1 }));
    self::call(kit, &blue, "reserve_files", json!({ "paths": ["last"] }));
    call("revoke_token", json!({ "id": 1 }));
    call("retire_agent", json!({ "agent": 1, "reason": "done" }));
    checkpoint::checkpoint(kit);
    let leaked =
        json!({ "project": "web", "to": ["operator"], "subject": "the key", "body": "is hunter2" });
    let leaked = self::call(kit, &Actor::OPERATOR, "send_message", leaked);
    call(
        "redact",
        json!({ "seq": leaked.answer["seq"], "reason": "a password" }),
    );
}

/// The part of the scenario that is mail: between two agents, the operator and another project.
fn mail(kit: &Kit) -> (Actor, Actor) {
    let agent = |project: &str, name: &str, policy: &str| {
        let agent = json!({
            "project": project, "name": name, "program": "p", "model": "m", "contact_policy": policy,
        });
        authenticated(kit, "register_agent", agent)
    };
    let (red, gray) = (
        agent("web", "Red", "contacts"),
        agent("web", "Gray", "open"),
    );
    agent("project", "Far", "open");
    let operator = &Actor::OPERATOR;
    for (who, name, request) in [
        (&gray, "put_attachment", json!({ "content": "aGVsbG8=" })),
        (
            &gray,
            "request_contact",
            json!({ "agent": "Red", "reason": "the merge's" }),
        ),
        (
            &red,
            "answer_contact",
            json!({ "id": 1, "answer": "refuse" }),
        ),
        (&gray, "request_contact", json!({ "agent": "Red" })),
        (
            operator,
            "answer_contact",
            json!({ "id": 1, "answer": "approve", "until": "2100-01-01T00:00:00Z" }),
        ),
        (
            &gray,
            "send_message",
            json!({
                "to": ["Red", "operator"], "cc": ["Blue"], "bcc": ["Far@project", "Gray"], "importance": "urgent",
                "subject": "The plan: été, 日本", "body": "two\nlines, *it's* the plan", "topic": "T-1",
                "ack_required": true,
                "attachments": [{ "sha256": HELLO, "name": "é.txt" }, { "sha256": HELLO, "name": "b" }],
            }),
        ),
        (&red, "read_messages", json!({ "ids": [1] })),
        (
            &red,
            "acknowledge",
            json!({ "ids": [1], "note": "will do" }),
        ),
        (operator, "acknowledge", json!({ "ids": [1] })),
        (&red, "reply", json!({ "id": 1, "body": "yes" })),
        (
            operator,
            "send_message",
            json!({ "project": "project", "to": ["*"], "subject": "all", "body": "b" }),
        ),
        (
            &gray,
            "forward",
            json!({ "id": 2, "to": ["operator"], "note": "fyi" }),
        ),
    ] {
        call(kit, who, name, request);
    }
    (red, gray)
}

/// The part of the scenario that is leases, locks and sentinels; each ends in another way.
fn leases(kit: &Kit, red: &Actor, gray: &Actor) {
    let operator = &Actor::OPERATOR;
    let lock = |name: &str| json!({ "project": "web", "name": name, "reason": "the test's" });
    for (who, name, request) in [
        (
            gray,
            "reserve_files",
            json!({ "paths": ["Src/[id].rs"], "patterns": ["docs/{a,é}*/**"], "ttl": "2h", "reason": "it's mine" }),
        ),
        (
            gray,
            "reserve_files",
            json!({ "paths": ["a"], "mode": "shared" }),
        ),
        (
            red,
            "reserve_files",
            json!({ "paths": ["A/b"], "mode": "shared", "ttl": "1s" }),
        ),
        (gray, "reserve_files", json!({ "paths": ["a"] })),
        (gray, "renew", json!({ "ids": [1], "ttl": "3h" })),
        (
            red,
            "request_release",
            json!({ "id": 1, "reason": "the fix" }),
        ),
        (
            gray,
            "answer_release",
            json!({ "id": 1, "answer": "defer", "eta": "5m" }),
        ),
        (
            gray,
            "answer_release",
            json!({ "id": 1, "answer": "release", "note": "done" }),
        ),
        (
            operator,
            "force_release",
            json!({ "id": 2, "reason": "the night shift's" }),
        ),
        (red, "acquire_lock", lock("port")),
        (operator, "acquire_lock", lock("the desk")),
        (red, "release_lock", json!({ "name": "port" })),
        (
            red,
            "claim_sentinel",
            json!({ "name": "nightly", "scope": "eu", "every": "1h" }),
        ),
        (
            operator,
            "reset_sentinel",
            json!({ "project": "web", "name": "nightly", "scope": "eu" }),
        ),
        (
            operator,
            "claim_sentinel",
            json!({ "project": "web", "name": "nightly", "every": "1h" }),
        ),
    ] {
        call(kit, who, name, request);
    }
    hooks(kit);
    sweep(kit);
}

/// The part of the scenario that is hooks.
fn hooks(kit: &Kit) {
    let operator = &Actor::OPERATOR;
    for (who, name, request) in [
        (
            operator,
            "add_hook",
            json!({ "url": "https://hooks.example/in", "filter": { "kinds": ["run_created"] } }),
        ),
        (
            operator,
            "add_hook",
            json!({ "url": "http://[2001:db8::1]:8080/", "since": 0 }),
        ),
        (operator, "remove_hook", json!({ "id": 1 })),
    ] {
        call(kit, who, name, request);
    }
}

/// The part of the scenario that is dispatches; they end in every way.
fn dispatches(kit: &Kit, red: &Actor, gray: &Actor) {
    let operator = &Actor::OPERATOR;
    let create = |more: serde_json::Value| {
        let mut wish =
            json!({ "project": "web", "agent_kind": "coder", "prompt": "two\nsteps, it's é" });
        for (name, value) in more.as_object().into_iter().flatten() {
            wish[name] = value.clone();
        }
        call(kit, operator, "create_dispatch", wish).answer["dispatch"]["id"].clone()
    };
    let claim = |who: &Actor, lease: &str| {
        let wish = json!({ "agent_kinds": ["coder"], "lease": lease });
        let claimed = call(kit, who, "claim_dispatch", wish).answer;
        json!({ "id": claimed["dispatch"]["id"], "fence": claimed["dispatch"]["fence"] })
    };
    let step = |who: &Actor, name: &str, claim: &serde_json::Value, more: serde_json::Value| {
        let mut request = claim.clone();
        for (name, value) in more.as_object().into_iter().flatten() {
            request[name] = value.clone();
        }
        call(kit, who, name, request)
    };
    let first = create(json!({ "priority": 5, "group": "the night's", "deadline": "1h" }));
    create(json!({ "depends_on": [first] }));
    // Its lease is over before the next call.
    claim(red, "1s");
    sweep(kit);
    let held = claim(gray, "1h");
    let report = json!({ "tokens": 7, "progress": "half way: é" });
    step(gray, "report_dispatch", &held, report);
    step(gray, "extend_dispatch", &held, json!({ "lease": "2h" }));
    let end = json!({
        "outcome": "completed", "verdict": "warn", "summary": "it's done",
        "result": { "z": 0.1, "a": [1, null, "é"] },
    });
    step(gray, "finish_dispatch", &held, end);
    let held = claim(red, "1h");
    step(red, "start_dispatch", &held, json!({}));
    step(
        red,
        "finish_dispatch",
        &held,
        json!({ "outcome": "failed" }),
    );
    let again = call(kit, operator, "retry_dispatch", json!({ "id": held["id"] })).answer;
    let cancel =
        json!({ "id": again["dispatch"]["id"], "expected_revision": 1, "reason": "no need" });
    call(kit, operator, "cancel_dispatch", cancel);
    create(json!({ "deadline": "1s" }));
    sweep(kit);
    create(json!({}));
    claim(gray, "1h");
    create(json!({}));
}

/// Writes down what is due.
fn sweep(kit: &Kit) {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let swept = runtime.expect("a runtime").block_on(kit.kernel().sweep());
    swept.expect("what is due is written down");
}

/// Has the operator make a token, and presents it.
fn authenticated(kit: &Kit, name: &str, request: serde_json::Value) -> Actor {
    let secret = call(kit, &Actor::OPERATOR, name, request).secret;
    let token = secret.and_then(Secret::token);
    let token = token.expect("a token").secret.reveal();
    let actor = kit.kernel().authenticate(&token).wait();
    actor.expect("an actor").answer
}

/// The SHA-256 of `hello`.
const HELLO: &str = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

/// Calls an operation as somebody, and lets some time pass.
fn call(kit: &Kit, who: &Actor, name: &str, request: serde_json::Value) -> operation::Outcome {
    called(kit, who, name, request).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Does the same, whatever comes of it.
fn called(
    kit: &Kit,
    who: &Actor,
    name: &str,
    request: serde_json::Value,
) -> Result<operation::Outcome, Error> {
    let operation = operation::find(name).expect("an operation");
    let correlation = Correlation::parse("golden \"é\"").expect("a correlation");
    let caller = Caller::from(who.clone()).with_correlation(correlation);
    let answer = (operation.call)(kit.kernel(), caller, request);
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let outcome = runtime.expect("a runtime").block_on(answer);
    kit.clock.advance_us(1_234_567);
    outcome
}

/// Asks for the whole database.
struct Whole;

impl Query for Whole {
    const NAME: &'static str = "whole";
    const WHO: &'static [Party] = &[Party::Operator];
    type Answer = Golden;

    fn run(&self, _: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Golden, Error> {
        let mut tables = BTreeMap::new();
        for (table, sql) in PROJECTED {
            tables.insert(table.to_owned(), rows(snapshot, sql)?);
        }
        Ok(Golden {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            schema: comity_kernel::store::MIGRATIONS.len(),
            events: page(snapshot, Seq::ZERO, 1_000)?
                .iter()
                .map(written)
                .collect(),
            tables,
            words: words(
                snapshot,
                "select doc, col, term from message_word order by doc, col, \"offset\"",
            )?,
            discovery_words: words(
                snapshot,
                "select doc, col, term from discovery_word order by doc, col, \"offset\"",
            )?,
        })
    }
}

/// Reads the index of words as SQLite shows it, word by word.
fn words(read: &mut impl Read, sql: &'static str) -> Result<Indexed, StoreError> {
    let mut words = Indexed::new();
    read.each(sql, &[], &mut |mut row| {
        let (doc, col): (i64, String) = (row.take()?, row.take()?);
        let [subject, body] = words.entry(doc).or_default();
        let field = if col == "subject" { subject } else { body };
        field.push(row.take()?);
        Ok(())
    })?;
    Ok(words)
}

fn rows(read: &mut impl Read, sql: &'static str) -> Result<Vec<serde_json::Value>, StoreError> {
    let columns = sql
        .trim_start_matches("select")
        .split(" from ")
        .next()
        .unwrap_or_default();
    let columns = columns.split("from").next().unwrap_or_default();
    let mut rows = vec![json!(columns.split(',').map(str::trim).collect::<Vec<_>>())];
    read.each(sql, &[], &mut |row| {
        rows.push(row.rest().iter().map(value_as_json).collect());
        Ok(())
    })?;
    Ok(rows)
}

fn value_as_json(value: &Value) -> serde_json::Value {
    match value {
        Value::Null => serde_json::Value::Null,
        Value::Int(number) => json!(number),
        Value::Real(number) => json!(number),
        Value::Text(text) => json!(text),
        Value::Blob(bytes) => json!({ "hex": to_hex(bytes) }),
    }
}

fn written(event: &Recorded) -> Written {
    Written {
        seq: event.seq.get(),
        at_us: event.at.micros(),
        v: event.v,
        kind: event.kind.clone(),
        project: event.project.map(ProjectId::get),
        actor: event.actor.clone(),
        subject_type: event.subject_type.clone(),
        subject_id: event.subject_id,
        run: event.run,
        correlation: event.correlation.clone(),
        payload_sha256: to_hex(&event.payload_sha256),
        payload: event.payload.clone(),
        hash: to_hex(&event.hash),
    }
}

fn recorded(written: &Written) -> Recorded {
    Recorded {
        seq: Seq::new(written.seq),
        at: Timestamp::from_micros(written.at_us),
        v: written.v,
        kind: written.kind.clone(),
        project: written.project.map(ProjectId::new),
        actor: written.actor.clone(),
        subject_type: written.subject_type.clone(),
        subject_id: written.subject_id,
        run: written.run,
        correlation: written.correlation.clone(),
        payload_sha256: from_hex(&written.payload_sha256).expect("a hash"),
        payload: written.payload.clone(),
        hash: from_hex(&written.hash).expect("a hash"),
    }
}
