//! Golden logs: what released versions wrote, kept for ever (K6).

use comity_domain::token::{from_hex, to_hex};
use comity_domain::{ProjectId, Seq, Timestamp};
use comity_kernel::actor::Correlation;
use comity_kernel::log::Recorded;
use comity_kernel::log::table::page;
use comity_kernel::tx::Snapshot;
use comity_kernel::{Actor, Caller, Error, Party, Query, operation};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{Engine, Kit};

/// A log as a released version wrote it, and the state it folded to.
pub struct Golden {
    /// The version.
    pub version: &'static str,
    /// The events.
    pub events: Vec<Recorded>,
    /// The hash of the state they fold to.
    pub state_hash: String,
}

/// One event of a golden log, as text.
#[derive(Serialize, Deserialize)]
struct Written {
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
    vec![read("0.1.0", include_str!("../golden/0.1.0.jsonl"))]
}

/// Reads a golden log: one event a line, and the state's hash in the last.
fn read(version: &'static str, text: &str) -> Golden {
    let (events, state_hash) = text
        .trim_end()
        .rsplit_once('\n')
        .expect("a log and its hash");
    let events = events
        .lines()
        .map(|line| serde_json::from_str(line).expect("an event"))
        .map(recorded)
        .collect();
    Golden {
        version,
        events,
        state_hash: state_hash.to_owned(),
    }
}

/// Writes a golden log of what this version does, as [`all`] reads it.
pub fn write() -> String {
    let kit = Kit::new(Engine::Sqlite);
    scenario(&kit);
    let state_hash = kit.doctor().state_hash;
    let events = kit.ask(WholeLog).expect("the log").answer;
    let lines = events.iter().map(|event| {
        serde_json::to_string(&Written {
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
        })
        .expect("a line")
    });
    lines.chain([state_hash]).map(|line| line + "\n").collect()
}

/// Does everything that leaves an event, at least once.
fn scenario(kit: &Kit) {
    let call = |name: &str, request: Value| {
        let operation = operation::find(name).expect("an operation");
        let caller = Caller::from(Actor::OPERATOR)
            .with_correlation(Correlation::parse("golden \"é\"").expect("a correlation"));
        let answer = (operation.call)(kit.kernel(), caller, request);
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.expect("a runtime").block_on(answer).expect("done");
        kit.clock.advance_us(1_234_567);
    };
    call(
        "ensure_project",
        json!({ "key": "/srv/web", "name": "The Web" }),
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
    call("rotate_token", json!({ "agent": 1 }));
    call("revoke_token", json!({ "id": 1 }));
    call("retire_agent", json!({ "agent": 1, "reason": "done" }));
}

/// Asks for the whole log.
struct WholeLog;

impl Query for WholeLog {
    const NAME: &'static str = "whole_log";
    const WHO: &'static [Party] = &[Party::Operator];
    type Answer = Vec<Recorded>;

    fn run(&self, _: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Vec<Recorded>, Error> {
        Ok(page(snapshot, Seq::ZERO, 1_000)?)
    }
}

fn recorded(written: Written) -> Recorded {
    Recorded {
        seq: Seq::new(written.seq),
        at: Timestamp::from_micros(written.at_us),
        v: written.v,
        kind: written.kind,
        project: written.project.map(ProjectId::new),
        actor: written.actor,
        subject_type: written.subject_type,
        subject_id: written.subject_id,
        run: written.run,
        correlation: written.correlation,
        payload_sha256: from_hex(&written.payload_sha256).expect("a hash"),
        payload: written.payload,
        hash: from_hex(&written.hash).expect("a hash"),
    }
}
