//! A workspace in which everybody gives everything away.

use std::cell::RefCell;

use comity_kernel::Actor;
use comity_kernel::actor::{Caller, IdempotencyKey};
use comity_testkit::Kit;
use serde_json::{Value, json};

use super::SECRET;
use crate::discovery_search::embed_all;

/// A call under a key, whose answer is kept.
pub(super) struct Said {
    pub(super) caller: Caller,
    pub(super) name: String,
    pub(super) request: Value,
}

struct Leaks<'a> {
    kit: &'a Kit,
    said: RefCell<Vec<Said>>,
}

fn call(kit: &Leaks<'_>, who: &Actor, name: &str, request: &Value) -> Value {
    let key = format!("{name}-{}", kit.said.borrow().len());
    let caller = Caller::from(who.clone()).with_key(IdempotencyKey::parse(key).unwrap());
    kit.said.borrow_mut().push(Said {
        caller: caller.clone(),
        name: name.to_owned(),
        request: request.clone(),
    });
    let answer = kit.kit.call(caller, name, request);
    answer.unwrap_or_else(|error| panic!("{name} {request}: {error}"))
}

/// Puts the secret into every field that takes words.
pub(super) fn secrets(kit: &Kit) -> Vec<Said> {
    let leaks = &Leaks {
        kit,
        said: RefCell::default(),
    };
    let call = |who: &Actor, name: &str, request: Value| call(leaks, who, name, &request);
    let operator = &Actor::OPERATOR;
    call(
        operator,
        "ensure_project",
        json!({ "key": "/srv/web", "name": format!("Web {SECRET}") }),
    );
    call(
        operator,
        "update_project",
        json!({ "project": "web", "name": format!("The Web {SECRET}") }),
    );
    call(
        operator,
        "register_agent",
        json!({
            "project": "web", "name": "Spy", "program": "p", "model": "m", "task": SECRET,
            "metadata": { "key": SECRET, "more": [SECRET] },
        }),
    );
    let (_, ann) = kit.agent_with("web", "Ann", &["orchestrate"]);
    let (_, bob) = kit.agent("web", "Bob");
    call(
        &ann,
        "update_agent",
        json!({ "agent": "Ann", "task": format!("find {SECRET}"), "metadata": { SECRET: 1 } }),
    );
    mail(leaks, &ann, &bob);
    leases(leaks, &ann, &bob);
    runs(leaks, &ann);
    dispatches(leaks, &bob);
    others(leaks, &ann);
    embed_all(kit).unwrap();
    state(leaks, &ann);
    call(
        operator,
        "retire_agent",
        json!({ "agent": "Spy", "project": "web", "reason": SECRET }),
    );
    leaks.said.take()
}

fn mail(kit: &Leaks<'_>, ann: &Actor, bob: &Actor) {
    let call = |who: &Actor, name: &str, request: Value| call(kit, who, name, &request);
    // The bytes are the secret: `hush4711` in base64.
    let file = call(ann, "put_attachment", json!({ "content": "aHVzaDQ3MTE=" }));
    let sent = call(
        ann,
        "send_message",
        json!({
            "to": ["Bob"], "subject": format!("{SECRET} é"), "body": format!("line\n{SECRET}\n\"{SECRET}\""),
            "topic": SECRET, "ack_required": true,
            "attachments": [{ "sha256": file["attachment"]["sha256"], "name": format!("{SECRET}.txt") }],
        }),
    );
    let id = &sent["message"]["id"];
    call(bob, "acknowledge", json!({ "ids": [id], "note": SECRET }));
    call(
        bob,
        "reply",
        json!({ "id": id, "body": format!("you wrote {SECRET}") }),
    );
    call(
        bob,
        "forward",
        json!({ "id": id, "to": ["operator"], "note": SECRET }),
    );
    call(
        ann,
        "request_contact",
        json!({ "agent": "Bob", "reason": SECRET }),
    );
}

fn leases(kit: &Leaks<'_>, ann: &Actor, bob: &Actor) {
    let call = |who: &Actor, name: &str, request: Value| call(kit, who, name, &request);
    let held = call(
        ann,
        "reserve_files",
        json!({ "paths": ["src/a", "src/b"], "reason": SECRET }),
    );
    let held = &held["reservations"][0]["id"];
    call(
        bob,
        "request_release",
        json!({ "id": held, "reason": SECRET }),
    );
    call(
        &Actor::OPERATOR,
        "force_release",
        json!({ "id": held, "reason": SECRET }),
    );
    call(
        ann,
        "acquire_lock",
        json!({ "name": "port", "reason": SECRET }),
    );
}

fn runs(kit: &Leaks<'_>, ann: &Actor) {
    let call = |who: &Actor, name: &str, request: Value| call(kit, who, name, &request);
    let operator = &Actor::OPERATOR;
    let make = |goal: &str| {
        let run = json!({
            "project": "web", "goal": goal, "phases": ["plan", "build", "test", "done"],
            "gates": { "plan->build": [], "build->test": [{ "check": "artifact_exists", "phase": "build" }], "test->done": [] },
            "metadata": { "key": SECRET },
        });
        call(operator, "create_run", run)["run"]["id"].clone()
    };
    let (id, url) = (make(SECRET), format!("https://x.test/{SECRET}"));
    let artifact =
        json!({ "run": id, "phase": "plan", "kind": "plan", "path": SECRET, "url": url });
    let artifact = call(ann, "add_artifact", artifact);
    let withdraw = json!({ "run": id, "artifact": artifact["artifact"]["id"], "reason": SECRET });
    call(ann, "withdraw_artifact", withdraw);
    let why = || json!({ "reason": SECRET });
    for (name, more) in [
        (
            "update_run",
            json!({ "goal": format!("do {SECRET}"), "expected_revision": 3 }),
        ),
        (
            "record_verdict",
            json!({ "phase": "plan", "verdict": "pass", "summary": SECRET }),
        ),
        ("approve", json!({ "phase": "plan", "note": SECRET })),
        ("advance_run", json!({ "note": SECRET })),
        ("override_gate", why()),
        (
            "roll_back_run",
            json!({ "to_phase": "plan", "reason": SECRET }),
        ),
        ("skip_phase", json!({ "phase": "build", "reason": SECRET })),
        ("pause_run", why()),
        ("resume_run", why()),
        ("cancel_run", why()),
    ] {
        let mut request = json!({ "run": id });
        request
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        call(operator, name, request);
    }
    call(
        operator,
        "fail_run",
        json!({ "run": make("plain"), "reason": SECRET }),
    );
}

fn dispatches(kit: &Leaks<'_>, bob: &Actor) {
    let call = |who: &Actor, name: &str, request: Value| call(kit, who, name, &request);
    let operator = &Actor::OPERATOR;
    let make = || {
        let made = json!({ "project": "web", "agent_kind": "builder", "prompt": SECRET });
        call(operator, "create_dispatch", made)
    };
    let claim =
        || call(bob, "claim_dispatch", json!({ "agent_kinds": ["builder"] }))["dispatch"].clone();
    make();
    let first = claim();
    let held = |more: Value| {
        let mut request = json!({ "id": first["id"], "fence": first["fence"] });
        request
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        request
    };
    call(
        bob,
        "report_dispatch",
        held(json!({ "tokens": 1, "progress": SECRET })),
    );
    call(
        bob,
        "finish_dispatch",
        held(json!({ "outcome": "failed", "summary": SECRET, "result": { "k": [SECRET] } })),
    );
    let again = call(operator, "retry_dispatch", json!({ "id": first["id"] }));
    call(
        operator,
        "cancel_dispatch",
        json!({ "id": again["dispatch"]["id"], "expected_revision": 1, "reason": SECRET }),
    );
}

/// State, small and large, and large that was replaced.
fn state(kit: &Leaks<'_>, ann: &Actor) {
    let call = |who: &Actor, name: &str, request: Value| call(kit, who, name, &request);
    let large = json!({ "notes": format!("{SECRET} ").repeat(1_000) });
    for (key, value) in [
        ("small", json!(SECRET)),
        ("large", large.clone()),
        ("old", large),
    ] {
        call(
            ann,
            "save_state",
            json!({ "scope": "shared", "key": key, "value": value }),
        );
    }
    call(
        ann,
        "save_state",
        json!({ "scope": "shared", "key": "old", "value": 1 }),
    );
}

/// Discoveries, with vectors and without, hooks and streams.
fn others(kit: &Leaks<'_>, ann: &Actor) {
    let call = |who: &Actor, name: &str, request: Value| call(kit, who, name, &request);
    let operator = &Actor::OPERATOR;
    let submit = |number: i64| {
        let found = json!({
            "source": "papers", "source_id": format!("p-{number}"), "title": format!("On {SECRET}"),
            "summary": SECRET, "url": format!("https://x.test/{SECRET}"), "embedding": [0.25, 1.0],
            "model": "m", "score": 0.9,
        });
        call(ann, "submit_discovery", found)["discovery"]["id"].clone()
    };
    let (first, second) = (submit(1), submit(2));
    call(
        ann,
        "promote_discovery",
        json!({ "id": first, "ref": SECRET }),
    );
    call(
        ann,
        "dismiss_discovery",
        json!({ "id": second, "reason": SECRET }),
    );
    call(
        ann,
        "feedback",
        json!({ "id": first, "signal": "useful", "note": SECRET }),
    );
    let hook = call(
        operator,
        "add_hook",
        json!({ "filter": {}, "url": format!("https://hook.example/{SECRET}") }),
    );
    call(operator, "remove_hook", json!({ "id": hook["hook"]["id"] }));
    call(
        ann,
        "append_event",
        json!({ "stream": "notes", "kind": "custom.said", "payload": { "words": SECRET } }),
    );
}
