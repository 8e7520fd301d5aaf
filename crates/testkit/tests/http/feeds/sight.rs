//! Who sees what, and who may follow at all.

use comity_testkit::both_engines;
use comity_testkit::served::Call;
use serde_json::json;

use super::stream::{Came, Stream};
use super::wire::{Heard, Wire};
use crate::town::Town;

/// Everything a token sees from a place up to another one that it sees too.
fn between(town: &Town, token: &str, since: i64, until: i64) -> Vec<Came> {
    let mut stream = Stream::open(town, token, &format!("?since={since}"));
    let mut came = Vec::new();
    while came.last().is_none_or(|last: &Came| last.seq < until) {
        came.push(stream.next().unwrap());
    }
    came
}

both_engines! {
    // S20 C3: nobody else's mail, nobody else's bcc, no bodies for observers
    fn mail_is_seen_by_its_parties_alone(engine) {
        let town = Town::new(engine);
        let since = town.end();
        let sent = town.send(&town.blue.token, &json!({
            "to": ["Red"], "bcc": ["Chief", "Green@api"], "subject": "s", "body": "the secret body",
        }));
        let id = town.does(&town.chief.token, "inbox", &json!({})).unwrap()["items"][0]["id"].clone();
        let read = town.does(&town.chief.token, "read_messages", &json!({ "ids": [id] })).unwrap();
        assert_eq!(read["seq"], sent + 1);
        for project in ["web", "api"] {
            let renamed = json!({ "project": project, "name": "end" });
            town.does(&town.operator, "update_project", &renamed).unwrap();
        }
        let (web, api) = (sent + 2, sent + 3);
        let [red, chief, blue, green] = [&town.red, &town.chief, &town.blue, &town.green];
        let recipients = |token: &str, until: i64| {
            let came = between(&town, token, since, until);
            let found = came.iter().find(|came| came.kind == "message_sent");
            let found = found.map(|came| came.event["payload"]["recipients"].as_array().unwrap().len());
            let marked = came.iter().any(|came| came.kind == "message_read");
            (found, marked)
        };
        assert_eq!(recipients(&blue.token, web), (Some(3), true));
        assert_eq!(recipients(&red.token, web), (Some(1), false));
        assert_eq!(recipients(&chief.token, web), (Some(2), true));
        assert_eq!(recipients(&green.token, api), (Some(2), false), "from another project");
        assert_eq!(recipients(&town.operator, api), (Some(3), true));
        assert_eq!(recipients(&town.observer, api), (Some(1), false), "a bcc reads unseen");
        assert_eq!(recipients(&town.guest, web), (Some(1), false));
        for token in [&town.observer, &town.guest] {
            let came = between(&town, token, since, web);
            assert!(!format!("{came:?}").contains("secret body"), "{came:?}");
            assert_eq!(came[0].event["payload_sha256"], json!(null));
        }
        let whole = between(&town, &blue.token, since, web);
        assert!(whole[0].event["payload_sha256"].is_string());
    }
}

both_engines! {
    // S20: values are for those who may load them
    fn state_is_seen_by_those_who_may_load_it(engine) {
        let town = Town::new(engine);
        let since = town.end();
        for (scope, value) in [(json!(null), "my secret"), (json!("shared"), "our secret")] {
            let request = json!({ "scope": scope, "key": "plan", "value": value });
            town.does(&town.blue.token, "save_state", &request).unwrap();
        }
        for project in ["web", "api"] {
            let renamed = json!({ "project": project, "name": "end" });
            town.does(&town.operator, "update_project", &renamed).unwrap();
        }
        let (web, api) = (since + 3, since + 4);
        let seen = |token: &str, until: i64| {
            let came = between(&town, token, since, until);
            let saved = came.iter().filter(|came| came.kind == "state_saved");
            let shown: Vec<_> = saved.map(|came| came.event["payload"]["content"]["value"].clone()).collect();
            shown
        };
        let (mine, ours) = (json!("my secret"), json!("our secret"));
        assert_eq!(seen(&town.blue.token, web), [mine.clone(), ours.clone()]);
        assert_eq!(seen(&town.operator, api), [mine, ours.clone()]);
        assert_eq!(seen(&town.red.token, web), [ours]);
        assert_eq!(seen(&town.green.token, api), [json!(null); 0], "another project's");
        for token in [&town.observer, &town.guest] {
            let came = between(&town, token, since, web);
            assert!(!format!("{came:?}").contains("secret"), "{came:?}");
            let saved: Vec<_> = came.iter().filter(|came| came.kind == "state_saved").collect();
            assert_eq!(saved.len(), 1, "what is shared, without its value");
            assert_eq!((&saved[0].event["payload"]["key"], &saved[0].event["payload_sha256"]), (&json!("plan"), &json!(null)));
        }
    }
}

// S18: tokens are the operator's affair, and their hashes nobody's
#[test]
fn tokens_are_seen_by_operators_alone() {
    let town = Town::small();
    let end = town.end();
    let came = between(&town, &town.operator, 0, end);
    let made = came.iter().filter(|came| came.kind == "token_created");
    assert!(made.clone().count() >= 7);
    for token in made {
        assert_eq!(token.event["payload"].get("sha256"), None);
    }
    let keys = between(&town, &town.operator, 0, 1).remove(0);
    let mut stream = Stream::open(&town, &town.observer, "?since=0");
    assert_eq!(stream.next().unwrap(), keys);
    let none = between(&town, &town.observer, 0, end - 1);
    assert!(none.iter().all(|came| !came.kind.starts_with("token_")));
}

#[test]
fn a_feed_may_be_of_some_kinds_or_of_one_project() {
    let town = Town::small();
    let call = Call::get("/api/events/stream?since=0&kinds=project_created&kinds=agent_retired");
    let mut stream = Stream::call(&town, &call.token(&town.blue.token)).unwrap();
    let came = stream.next().unwrap();
    assert_eq!(came.kind, "project_created");
    assert_eq!(came.event["payload"]["key"], "/srv/web");
    town.does(&town.red.token, "retire_agent", &json!({ "agent": "Red" }))
        .unwrap();
    assert_eq!(stream.next().unwrap().kind, "agent_retired");
    let said = json!({ "stream": "s", "kind": "custom.done" });
    let said = town.does(&town.blue.token, "append_event", &said).unwrap();
    for filter in [
        "kinds=custom.*",
        "kinds=custom.done&actor=Blue",
        "subject=stream:1",
    ] {
        let mut own = Stream::open(&town, &town.blue.token, &format!("?since=0&{filter}"));
        let came = own.next().unwrap();
        assert_eq!(
            (came.kind.as_str(), &json!(came.seq)),
            ("custom.done", &said["seq"]),
            "{filter}"
        );
    }
    let run =
        json!({ "project": "web", "goal": "g", "phases": ["a", "b"], "gates": { "a->b": [] } });
    town.does(&town.operator, "create_run", &run).unwrap();
    let mut of_run = Stream::open(&town, &town.blue.token, "?since=0&run=1");
    assert_eq!(of_run.next().unwrap().kind, "run_created");
    town.does(&town.operator, "advance_run", &json!({ "run": 1 }))
        .unwrap();
    assert_eq!(of_run.next().unwrap().kind, "run_advanced");
    let api = "?since=0&project=api&kinds=project_created";
    let mut api = Stream::open(&town, &town.operator, api);
    assert_eq!(api.next().unwrap().event["payload"]["key"], "/srv/api");
}

// S17 S15 S16
#[test]
fn strangers_and_the_wrong_are_refused() {
    let town = Town::small();
    let status = |call: &Call| match Stream::call(&town, call) {
        Ok(_) => 200,
        Err(answer) => answer.status,
    };
    let stream = || Call::get("/api/events/stream");
    assert_eq!(status(&stream()), 401);
    assert_eq!(status(&stream().token("nonsense")), 401);
    let foreign = stream()
        .token(&town.blue.token)
        .header("Origin", "https://evil.example");
    assert_eq!(status(&foreign), 403);
    for (query, wanted) in [
        ("?since=1", 200),
        ("?since=x", 422),
        ("?sinse=1", 422),
        ("?kinds=no_such_kind", 422),
        ("?project=api", 404),
        ("?project=web", 200),
    ] {
        let call = Call::get(&format!("/api/events/stream{query}")).token(&town.blue.token);
        assert_eq!(status(&call), wanted, "{query}");
    }
    let two = Call::get("/api/events/stream?since=1").header("Last-Event-ID", "2");
    assert_eq!(status(&two.token(&town.blue.token)), 422);
    let wire = |path: &str, token: &str| {
        let call = Wire::request(path).token(token);
        Wire::call(&town, &call).map_or_else(|answer| answer.status, |_| 101)
    };
    assert_eq!(wire("/ws/agents/Blue", &town.blue.token), 101);
    assert_eq!(wire("/ws/agents/Blue", &town.red.token), 403);
    assert_eq!(wire("/ws/agents/Blue", &town.green.token), 404);
    assert_eq!(wire("/ws/agents/Blue", &town.observer), 403);
    assert_eq!(wire("/ws/agents/Blue", "nonsense"), 401);
    assert_eq!(wire("/ws/agents/Blue", &town.operator), 422);
    assert_eq!(wire("/ws/agents/Blue?project=web", &town.operator), 101);
    assert_eq!(wire("/ws/agents/Nobody?project=web", &town.operator), 404);
    let token = format!("/ws/agents/Blue?token={}", town.blue.token);
    assert_eq!(wire(&token, &town.blue.token), 422, "never in the URL");
    let foreign = Wire::request("/ws/agents/Blue").token(&town.blue.token);
    let foreign = foreign.header("Origin", "https://evil.example");
    assert_eq!(
        Wire::call(&town, &foreign).map(|_| ()).unwrap_err().status,
        403
    );
    let plain = Call::get("/ws/agents/Blue").token(&town.blue.token);
    assert_eq!(
        Wire::call(&town, &plain).map(|_| ()).unwrap_err().status,
        422
    );
}

// S17
#[test]
fn a_socket_answers_pings_and_closes_on_nonsense() {
    let town = Town::small();
    let open = || Wire::open(&town, &town.blue.token, "/ws/agents/Blue");
    let mut wire = open();
    assert_eq!(wire.hello, town.end());
    wire.say(&json!({ "type": "ping" }));
    assert_eq!(wire.hear(), Heard::Said(json!({ "type": "pong" })));
    wire.subscribe(0);
    assert_eq!(wire.event()["kind"], "project_created");
    let code = |kind: u8, payload: &[u8]| {
        let mut wire = open();
        wire.frame(kind, payload);
        match wire.hear() {
            Heard::Closed(code, _) => code,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(code(1, b"{\"type\":\"other\"}"), 1_008);
    assert_eq!(code(1, b"nonsense"), 1_008);
    assert_eq!(code(2, b"{\"type\":\"ping\"}"), 1_008);
    assert_eq!(code(1, &b" ".repeat(65 * 1_024)), 1_009);
    assert_eq!(code(1, &[0xff]), 1_002);
}
