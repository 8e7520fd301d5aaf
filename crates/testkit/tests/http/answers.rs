//! What is answered: numbers, statuses, keys, revisions and traces.

use std::collections::BTreeSet;

use comity_kernel::Party;
use comity_kernel::operation::{Bytes, Effect, OPERATIONS};
use comity_testkit::served::{Answer, Call};
use comity_testkit::{Engine, Kit, both_engines};
use serde_json::{Value, json};

use crate::archive::archive_of;
use crate::discoveries::discoveries_of_each;
use crate::log_calls::{events_of_each, hooks_of_each};
use crate::runs::runs_of_each;
use crate::town::{Belongings, Held, Town};

/// A town whose kernel has a place for copies on either engine, and an archive.
fn town_with_backups(engine: Engine) -> (Town, tempfile::TempDir) {
    let backups = tempfile::tempdir().unwrap();
    let place = backups.path().to_owned();
    let kit = Kit::with(engine, |options| options.backups = Some(place));
    comity_testkit::hooks::plant_dead_letter(&kit);
    let archive = archive_of(&kit);
    let town = Town::around(kit, |settings, _| settings.archive = Some(archive));
    (town, backups)
}

/// A request line and a body of every operation that succeed, in an order that works.
fn one_of_each(town: &Town) -> Vec<(&'static str, String, Value)> {
    let id = town.blue.id;
    let unwanted = town.token(&json!({ "role": "observer" }));
    let unwanted = unwanted.split('_').nth(1).unwrap();
    let blues = town.belongings(&town.blue, &town.red);
    let line = |line: &str| line.replace("{id}", &id.to_string());
    let agent = json!({ "project": "web", "name": "New", "program": "test", "model": "none" });
    let spine = [
        (
            "ensure_project",
            "POST /api/projects",
            json!({ "key": "/srv/new" }),
        ),
        (
            "update_project",
            "PATCH /api/projects/web",
            json!({ "name": "Web" }),
        ),
        ("list_projects", "GET /api/projects", json!({})),
        (
            "project_status",
            "GET /api/projects/%2Fsrv%2Fweb",
            json!({}),
        ),
        (
            "create_token",
            "POST /api/tokens",
            json!({ "role": "observer" }),
        ),
        ("list_tokens", "GET /api/tokens", json!({})),
        (
            "revoke_token",
            &format!("DELETE /api/tokens/{unwanted}"),
            json!({}),
        ),
        ("register_agent", "POST /api/agents", agent),
        ("orient", "GET /api/orient", json!({})),
        ("list_agents", "GET /api/agents?project=web", json!({})),
        ("get_agent", "GET /api/agents/blue?project=web", json!({})),
        ("heartbeat", "POST /api/agents/{id}/heartbeat", json!({})),
        (
            "update_agent",
            "PATCH /api/agents/{id}",
            json!({ "task": "tests" }),
        ),
    ]
    .map(|(name, request, body)| (name, line(request), body));
    let reason = json!({ "reason": "a leak" });
    let end = [
        ("rotate_token", "POST /api/agents/{id}/token", json!({})),
        ("retire_agent", "DELETE /api/agents/{id}", json!({})),
        ("redact", "POST /api/events/1/redact", reason),
        ("doctor", "POST /api/doctor", json!({})),
        ("backup", "POST /api/backup", json!({})),
        ("export", "POST /api/export", json!({ "project": "web" })),
        ("archive_status", "GET /api/archive", json!({})),
        ("archive_verify", "POST /api/archive/verify", json!({})),
        ("archive_rebuild", "POST /api/archive/rebuild", json!({})),
        ("archive_retry", "POST /api/archive/retry", json!({})),
        ("prune", "POST /api/events/prune", json!({ "before": 1 })),
    ]
    .map(|(name, request, body)| (name, line(request), body));
    let (mail, leases) = (mail_of_each(&blues), leases_of_each(&blues));
    let calls = spine.into_iter().chain(mail).chain(leases);
    let calls = calls.chain(work_of_each(&blues));
    let calls = calls.chain(discoveries_of_each(&blues));
    let calls = calls.chain(runs_of_each(&blues.part));
    let calls = calls.chain(events_of_each()).chain(hooks_of_each());
    calls.chain(end).collect()
}

/// The same of mail: about what Blue has, and what the operator sends to itself and Blue.
fn mail_of_each(blues: &Belongings) -> Vec<(&'static str, String, Value)> {
    // After it came the request for Blue's lease.
    let id = blues.message + 2;
    let letter = json!({
        "project": "web", "to": ["operator", "Blue"], "subject": "word", "body": "b",
        "ack_required": true, "attachments": [{ "sha256": blues.sha256, "name": "plan" }],
    });
    let (to, body) = (json!({ "to": ["Red"] }), json!({ "body": "b" }));
    let (ids, none) = (json!({ "ids": [id] }), json!({}));
    let chief = json!({ "agent": "Chief" });
    let answer = json!({ "answer": "approve" });
    let bytes = json!("\u{0}any bytes");
    let (read, ack) = ("read_messages", "acknowledge");
    let writes = [
        ("request_contact", "POST /api/contacts", chief),
        ("answer_contact", "PUT /api/contacts/{contact}", answer),
        ("put_attachment", "POST /api/attachments", bytes),
        ("send_message", "POST /api/messages", letter),
        ("reply", "POST /api/messages/{message}/reply", body),
        ("forward", "POST /api/messages/{message}/forward", to),
        (read, "POST /api/messages/read", ids.clone()),
        (read, "POST /api/messages/{message}/read", none.clone()),
        (ack, "POST /api/messages/ack", ids),
        (ack, "POST /api/messages/{message}/ack", none.clone()),
    ];
    let reads = [
        ("list_contacts", "GET /api/contacts"),
        ("get_attachment", "GET /api/attachments/{sha256}"),
        ("inbox", "GET /api/inbox/operator"),
        ("inbox", "GET /api/inbox/Blue?project=web&topic=x&wait=1ms"),
        ("get_message", "GET /api/messages/{message}"),
        ("threads", "GET /api/threads"),
        ("thread", "GET /api/threads/{message}"),
        ("thread_summary", "GET /api/threads/{message}/summary"),
        ("overdue_acks", "GET /api/acks/overdue?project=web"),
        ("search", "GET /api/search?query=word"),
    ]
    .map(|(name, line)| (name, line, none.clone()));
    let filled = |(name, line, body): (_, &str, _)| {
        let line = line.replace("{message}", &id.to_string());
        let line = line.replace("{contact}", &blues.contact.to_string());
        (name, line.replace("{sha256}", &blues.sha256), body)
    };
    writes.into_iter().chain(reads).map(filled).collect()
}

/// The same of leases, locks, sentinels and state: about what Blue holds, and what Red does.
fn leases_of_each(blues: &Belongings) -> Vec<(&'static str, String, Value)> {
    let calls = [files_of_each(), names_of_each(), state_of_each()].concat();
    let filled = |(name, line, body): (_, &str, _)| {
        let line = line.replace("{lease}", &blues.lease.to_string());
        let line = line.replace("{other}", &blues.others_lease.to_string());
        (
            name,
            line.replace("{request}", &blues.request.to_string()),
            body,
        )
    };
    calls.into_iter().map(filled).collect()
}

/// Of leases on files.
fn files_of_each() -> Vec<(&'static str, &'static str, Value)> {
    let none = || json!({});
    let (why, files) = (json!({ "reason": "r" }), json!({ "paths": ["b"] }));
    let here = json!({ "project": "web", "paths": ["b"] });
    let (all, later) = (json!({ "all": true }), json!({ "answer": "defer" }));
    let (check, ask, answer) = ("check_files", "request_release", "answer_release");
    let query = "GET /api/reservations/check?project=web&paths=b&paths=c";
    let wish = "POST /api/reservations/{other}/release-requests";
    let force = "POST /api/reservations/{other}/force-release";
    let list = "GET /api/reservations?project=web";
    vec![
        ("reserve_files", "POST /api/reservations", files.clone()),
        (check, "POST /api/reservations/check", here.clone()),
        (check, query, none()),
        ("renew", "POST /api/reservations/renew", all),
        ("renew", "POST /api/reservations/{lease}/renew", none()),
        (ask, wish, why.clone()),
        (answer, "PUT /api/release-requests/{request}", later),
        ("list_reservations", list, none()),
        ("get_reservation", "GET /api/reservations/{lease}", none()),
        ("guard_check", "POST /api/guard/check", here),
        ("force_release", force, why),
        ("release", "POST /api/reservations/release", files),
        ("release", "DELETE /api/reservations/{lease}", none()),
    ]
}

/// Of locks and sentinels.
fn names_of_each() -> Vec<(&'static str, &'static str, Value)> {
    let none = || json!({});
    let (port, here) = (
        json!({ "project": "web", "name": "port 80" }),
        json!({ "project": "web" }),
    );
    let hourly = json!({ "project": "web", "every": "1h" });
    let reset = "DELETE /api/sentinels/nightly?project=web";
    let release = "DELETE /api/locks/port%2080?project=web";
    vec![
        ("acquire_lock", "POST /api/locks", port),
        ("renew_lock", "POST /api/locks/port%2080/renew", here),
        ("list_locks", "GET /api/locks?project=web", none()),
        ("release_lock", release, none()),
        (
            "claim_sentinel",
            "POST /api/sentinels/nightly/claim",
            hourly,
        ),
        ("reset_sentinel", reset, none()),
    ]
}

/// Of state, in a scope of Blue's and one that is shared.
fn state_of_each() -> Vec<(&'static str, &'static str, Value)> {
    let none = || json!({});
    let plan = "PUT /api/state/agent%2FBlue/the%2Fplan";
    let load = "GET /api/state/agent%2FBlue/the%2Fplan?project=web";
    let end = "DELETE /api/state/agent%2FBlue/the%2Fplan?project=web";
    let clear = "DELETE /api/state/shared%20things?project=web";
    let value = json!({ "project": "web", "value": null, "expected_version": 0 });
    let other = json!({ "project": "web", "value": [1], "ttl": "1h" });
    vec![
        ("save_state", plan, value),
        ("load_state", load, none()),
        ("save_state", "PUT /api/state/shared%20things/a", other),
        (
            "list_state",
            "GET /api/state/agent%2FBlue?project=web&prefix=the",
            none(),
        ),
        ("list_scopes", "GET /api/state?project=web", none()),
        ("delete_state", end, none()),
        ("clear_state", clear, none()),
    ]
}

/// Of dispatches: the operator takes what Blue has in hand from step to step.
fn work_of_each(blues: &Belongings) -> Vec<(&'static str, String, Value)> {
    let (none, known) = (
        json!({}),
        |revision: i64| json!({ "expected_revision": revision }),
    );
    let wish = json!({ "project": "web", "agent_kind": "coder", "prompt": "p" });
    // It lasts as long already, so this changes nothing.
    let longer = json!({ "expected_revision": 3, "lease": "24h" });
    let report = json!({ "expected_revision": 3, "tokens": 5 });
    let end = json!({ "expected_revision": 4, "outcome": "failed", "result": [1] });
    let claim = json!({ "project": "web", "agent_kinds": ["coder"], "wait": "1ms" });
    let calls = [
        ("create_dispatch", "POST /api/dispatches", wish),
        (
            "cancel_dispatch",
            "POST /api/dispatches/{made}/cancel",
            known(1),
        ),
        (
            "start_dispatch",
            "POST /api/dispatches/{held}/start",
            known(2),
        ),
        (
            "extend_dispatch",
            "POST /api/dispatches/{held}/extend",
            longer,
        ),
        (
            "report_dispatch",
            "POST /api/dispatches/{held}/report",
            report,
        ),
        ("finish_dispatch", "POST /api/dispatches/{held}/finish", end),
        (
            "retry_dispatch",
            "POST /api/dispatches/{held}/retry",
            none.clone(),
        ),
        (
            "list_dispatches",
            "GET /api/dispatches?project=web&state=failed",
            none.clone(),
        ),
        ("get_dispatch", "GET /api/dispatches/{held}", none.clone()),
        (
            "group_outcome",
            "GET /api/dispatch-groups/night?project=web",
            none,
        ),
        ("claim_dispatch", "POST /api/dispatches/claim", claim),
    ];
    let filled = |(name, line, body): (_, &str, _)| {
        let line = line.replace("{held}", &blues.dispatch.to_string());
        (
            name,
            line.replace("{made}", &(blues.dispatch + 1).to_string()),
            body,
        )
    };
    calls.map(filled).into()
}

/// Makes a call as the operator, or as an agent where operators have no business.
fn perform(town: &Town, name: &str, line: &str, body: &Value) -> Answer {
    let operation = comity_kernel::operation::find(name).unwrap();
    let (method, path) = line.split_once(' ').unwrap();
    let call = match method {
        "GET" | "DELETE" => Call::new(method, path),
        _ if matches!(operation.bytes, Bytes::Request(_)) => {
            Call::new(method, path).octets(body.as_str().unwrap().as_bytes())
        }
        _ => Call::new(method, path).json(body),
    };
    let token = if operation.who.contains(&Party::Operator) {
        &town.operator
    } else {
        &town.blue.token
    };
    town.call(call, token)
}

both_engines! {
    // F10: each operation is there, and says where in the log its answer stands
    fn every_operation_answers_with_its_place_in_the_log(engine) {
        let (town, _backups) = town_with_backups(engine);
        let calls = one_of_each(&town);
        let named: BTreeSet<_> = calls.iter().map(|(name, ..)| *name).collect();
        let known: BTreeSet<_> = OPERATIONS.iter().map(|operation| operation.name).collect();
        assert_eq!(named, known, "a call for every operation stands in `one_of_each`");
        for (name, line, body) in calls {
            let answer = perform(&town, name, &line, &body);
            if (name, engine) == ("backup", Engine::Postgres) {
                // PostgreSQL has tools of its own for that.
                assert_eq!(answer.refusal(), (503, "unusable".to_owned()));
                continue;
            }
            assert!([200, 201].contains(&answer.status), "{name}: {}", answer.text());
            if name == "get_attachment" {
                // The body is the bytes and nothing else, so there is no place for a number.
                assert_eq!(answer.text(), format!("for {}", town.blue.id));
                assert_eq!(answer.header("content-disposition"), Some("attachment"));
                must_be_dressed_as(&answer, "application/octet-stream");
                continue;
            }
            must_have_its_number(&town, name, &answer.json());
            must_be_dressed(&answer);
        }
    }

    // C2 S18: created once, handed over once
    fn a_repeated_key_is_answered_without_the_token(engine) {
        let town = Town::new(engine);
        let agent = json!({ "project": "web", "name": "New", "program": "p", "model": "m" });
        let other = json!({ "project": "web", "name": "Other", "program": "p", "model": "m" });
        let calls = [
            ("/api/agents".to_owned(), agent, other),
            ("/api/tokens".to_owned(), json!({ "role": "observer" }), json!({ "role": "operator" })),
            (format!("/api/agents/{}/token", town.red.id), json!({}), json!({ "project": "web" })),
        ];
        for (path, body, other) in calls {
            let send = |body: &Value| {
                town.call(Call::post(&path, body).header("Idempotency-Key", "k"), &town.operator)
            };
            let first = send(&body);
            assert_eq!(first.status, 201, "{}", first.text());
            let secret = match &first.json()["token"] {
                Value::String(secret) => secret.clone(),
                entry => entry["secret"].as_str().unwrap().to_owned(),
            };
            let works = town.served.get("/api/agents?project=web", &secret);
            assert_eq!(works.status, 200, "{path}");
            let again = send(&body);
            assert_eq!((again.status, &again.json()["seq"]), (200, &first.json()["seq"]));
            assert!(!again.text().contains("comity_"), "{}", again.text());
            assert_eq!(send(&other).refusal(), (409, "idempotency_mismatch".to_owned()));
        }
    }

    // E1: what was there already is 200
    fn only_what_is_new_is_created(engine) {
        let town = Town::new(engine);
        let ensure = || town.served.post("/api/projects", &town.operator, &json!({ "key": "/srv/n" }));
        assert_eq!([ensure().status, ensure().status], [201, 200]);
        let resume = json!({ "name": "Blue", "program": "test", "model": "new" });
        let resumed = town.served.post("/api/agents", &town.blue.token, &resume);
        assert_eq!((resumed.status, resumed.json().get("token")), (200, None));
    }

    // H2: `ETag` and `If-Match` are `revision` and `expected_revision`
    fn a_stale_revision_is_refused_in_either_spelling(engine) {
        let town = Town::new(engine);
        let path = "/api/agents/Blue";
        let tag = |answer: &Answer| answer.header("etag").map(ToOwned::to_owned);
        assert_eq!(tag(&town.served.get(path, &town.blue.token)).as_deref(), Some("\"1\""));
        let update = |body: Value, tag: Option<&str>| {
            let call = Call::new("PATCH", path).json(&body);
            let call = tag.iter().fold(call, |call, tag| call.header("If-Match", tag));
            town.call(call, &town.blue.token)
        };
        let done = update(json!({ "task": "a" }), Some("\"1\""));
        assert_eq!((done.status, tag(&done).as_deref()), (200, Some("\"2\"")));
        let conflict = (409, "version_conflict".to_owned());
        let stale = update(json!({ "task": "b" }), Some("\"1\""));
        assert_eq!((stale.refusal(), &stale.json()["present"]), (conflict.clone(), &json!(2)));
        let stale = update(json!({ "task": "b", "expected_revision": 1 }), None);
        assert_eq!(stale.refusal(), conflict);
        let same = update(json!({ "task": "b", "expected_revision": 2 }), Some("\"2\""));
        assert_eq!(same.status, 200, "{}", same.text());
        let both = update(json!({ "task": "c", "expected_revision": 3 }), Some("\"2\""));
        assert_eq!(both.refusal(), (422, "invalid".to_owned()));
        for strange in ["*", "W/\"3\"", "\"3\", \"4\"", "three", ""] {
            let answer = update(json!({ "task": "c" }), Some(strange));
            assert_eq!(answer.refusal(), (422, "invalid".to_owned()), "{strange}");
        }
        for (method, path) in [("POST", "/api/tokens"), ("DELETE", "/api/agents/Red")] {
            let call = Call::new(method, path).header("If-Match", "\"1\"");
            let call = if method == "POST" { call.json(&json!({ "role": "observer" })) } else { call };
            assert_eq!(town.call(call, &town.operator).refusal().0, 422, "{path}");
        }
    }

    // DESIGN 13: a trace goes into the log, so that it can be found from either end
    fn a_trace_is_kept_with_the_events_it_caused(engine) {
        let town = Town::new(engine);
        let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let last = || {
            let sql = "select coalesce(correlation, 'none') from event order by seq desc limit 1";
            town.served.kit.shell(sql).unwrap()
        };
        for (key, header, kept) in [("a", trace, trace), ("b", "00-xyz", "none")] {
            let call = Call::post("/api/projects", &json!({ "key": format!("/srv/{key}") }));
            let answer = town.call(call.header("traceparent", header), &town.operator);
            assert_eq!((answer.status, last().as_str()), (201, kept));
        }
    }

    // B6: a full queue is an error at once, and says when to come again
    fn a_full_queue_is_503_at_once(engine) {
        let kit = Kit::with(engine, |options| {
            options.queue_max = 1;
            options.batch_max = 1;
        });
        let town = Town::around(kit, |_, _| {});
        // Only a command comes by here, no upkeep.
        let gate = Held::at(&town, "command.after_emit");
        let send = |key: &str| {
            use std::io::Write as _;
            let call = Call::post("/api/projects", &json!({ "key": key })).token(&town.operator);
            let mut stream = town.served.connect();
            stream.write_all(&call.bytes(&town.served.addr().to_string())).unwrap();
            stream
        };
        let mut held = send("/srv/held");
        gate.wait_until_hit();
        let mut waiting = send("/srv/waiting");
        while town.served.kit.kernel().waiting().0 == 0 {
            std::thread::yield_now();
        }
        let full = town.served.post("/api/projects", &town.operator, &json!({ "key": "/srv/full" }));
        assert_eq!(full.refusal(), (503, "busy".to_owned()));
        assert_eq!(full.header("retry-after"), Some("1"));
        // A3: reading goes on.
        town.must_be_well();
        gate.open();
        let answered = |stream| comity_testkit::served::read_answer(stream, "POST").unwrap();
        let answer = answered(&mut held);
        assert_eq!(answer.status, 201, "{}", answer.text());
        // Upkeep, which comes every few seconds, may have had the one place.
        let answer = answered(&mut waiting);
        assert!([201, 503].contains(&answer.status), "{}", answer.text());
    }
}

fn must_have_its_number(town: &Town, name: &str, answer: &Value) {
    let head = town.served.kit.kernel().head().borrow().get();
    let operation = comity_kernel::operation::find(name).unwrap();
    let (seq, as_of) = (answer["seq"].as_i64(), answer["as_of_seq"].as_i64());
    match (name, operation.effect) {
        // A copy and the archive are beside the log.
        (
            "prune" | "backup" | "export" | "archive_status" | "archive_verify" | "archive_rebuild"
            | "archive_retry",
            _,
        ) => assert_eq!((seq, as_of), (None, None), "{answer}"),
        ("doctor", _) => assert_eq!(seq, Some(head), "{answer}"),
        // A sign of life is off the log: nothing has a place in it.
        ("heartbeat", _) | (_, Effect::Reads) => assert_eq!((seq, as_of), (None, Some(head))),
        _ => assert_eq!((seq, as_of), (Some(head), None), "{name}: {answer}"),
    }
}

/// S14: whatever it is, a browser must not make anything of it.
fn must_be_dressed(answer: &Answer) {
    must_be_dressed_as(answer, "application/json");
}

fn must_be_dressed_as(answer: &Answer, kind: &str) {
    for (name, value) in [
        ("content-type", kind),
        ("x-content-type-options", "nosniff"),
        ("cache-control", "no-store"),
        ("referrer-policy", "no-referrer"),
        (
            "content-security-policy",
            "default-src 'none'; frame-ancestors 'none'",
        ),
    ] {
        assert_eq!(answer.header(name), Some(value));
    }
    assert_eq!(answer.header("access-control-allow-origin"), None);
}

// Fault 1: the disk's reserve is SQLite's matter
#[test]
fn a_full_disk_is_503_and_says_when_to_come_again() {
    let mut kit = Kit::new(Engine::Sqlite);
    kit.project("/srv/web");
    kit.reopen(|options| options.reserve_bytes(u64::MAX))
        .unwrap();
    let served = comity_testkit::Served::around(kit, |_, _| {});
    let call = Call::post("/api/projects", &json!({ "key": "/srv/new" }));
    let full = served.call_unix(&call);
    assert_eq!(full.refusal(), (503, "storage_full".to_owned()));
    assert_eq!(full.header("retry-after"), Some("10"));
    assert_eq!(served.call_unix(&Call::get("/api/projects")).status, 200);
}

// The kernel is not asked for these.
#[test]
fn a_path_that_leads_nowhere_is_404_and_a_wrong_method_405() {
    let town = Town::small();
    for path in [
        "/",
        "/api",
        "/api/unknown",
        "/api/agents/",
        "/api//agents",
        "/api/agents/1/2/3",
    ] {
        let answer = town.served.get(path, &town.operator);
        assert_eq!(answer.refusal(), (404, "not_found".to_owned()), "{path}");
        must_be_dressed(&answer);
    }
    for (method, path, allow) in [
        ("PUT", "/api/projects", ["GET", "HEAD", "POST"].as_slice()),
        ("POST", "/api/projects/web", &["GET", "HEAD", "PATCH"]),
        ("OPTIONS", "/api/tokens", &["GET", "HEAD", "POST"]),
        ("TRACE", "/health", &["GET", "HEAD"]),
        ("BREW", "/api/doctor", &["POST"]),
    ] {
        let answer = town.call(Call::new(method, path), &town.operator);
        let refusal = (405, "method_not_allowed".to_owned());
        assert_eq!(answer.refusal(), refusal, "{method} {path}");
        let mut allowed: Vec<_> = answer.header("allow").unwrap().split(',').collect();
        allowed.sort_unstable();
        assert_eq!(allowed, allow, "{path}");
    }
}

// The kernel is not asked for these.
#[test]
fn every_answer_has_a_request_id() {
    let town = Town::small();
    let id = |call: Call| {
        let answer = town.served.call(&call);
        answer.header("x-request-id").unwrap().to_owned()
    };
    let echoed = Call::get("/api/unknown").header("X-Request-Id", "abc-1.2_3");
    assert_eq!(id(echoed), "abc-1.2_3");
    for strange in ["", "a b", "<script>", &"x".repeat(65)] {
        let made = id(Call::get("/health").header("X-Request-Id", strange));
        assert!(
            made.len() == 16 && made != strange,
            "{strange} became {made}"
        );
    }
    assert_ne!(id(Call::get("/api/tokens")), id(Call::get("/api/tokens")));
}
