//! `comity mcp`: one agent's connection, beside servers that come and go.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::mcp_client::{Client, Era};
use crate::place::{Place, tokens};

const ERAS: [Era; 2] = [Era::Handshake, Era::Stateless];

/// The events of the log, as `actor|correlation|kind`.
fn events(place: &Place) -> Vec<String> {
    let found = std::process::Command::new("sqlite3")
        .arg(place.data().join("comity.db"))
        .arg("select actor, correlation, kind from event order by seq")
        .output()
        .unwrap();
    let text = String::from_utf8(found.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// A morning of an agent.
fn work(client: &mut Client) -> (Value, Value, Value) {
    let listed = client.request("tools/list", json!({}));
    assert!(
        listed["result"]["tools"].as_array().unwrap().len() >= 3,
        "{listed}"
    );
    let joined = client
        .call("join", &json!({ "name": "Blue", "task": "t" }))
        .unwrap();
    let status = client.call("status", &json!({})).unwrap();
    let agents = client.call("list_agents", &json!({})).unwrap();
    (joined, status, agents)
}

// E3, S18: in both eras, embedded and through the socket, one agent; its token is never shown
#[test]
fn an_agent_joins_and_comes_back_in_both_eras_with_and_without_a_server() {
    let place = Place::new();
    let mut created = Vec::new();
    for serves in [false, true] {
        let server = serves.then(|| place.serve());
        for era in ERAS {
            let mut client = Client::start(&place, &[], era);
            let (joined, status, agents) = work(&mut client);
            assert_eq!(
                (&joined["agent_id"], &joined["name"]),
                (&json!(1), &json!("Blue"))
            );
            assert_eq!(joined["you"]["task"], "t");
            assert_eq!(status["agent_id"], 1);
            assert_eq!(agents["agents"].as_array().unwrap().len(), 1);
            assert_eq!(agents["agents"][0]["program"], "tester");
            created.push(joined["created"] == true);
            let (exit, heard) = client.end();
            assert_eq!(exit, Some(0), "{heard}");
            for token in tokens(&place) {
                assert!(!heard.contains(&token) && !heard.contains("comity_1_"));
            }
        }
        drop(server);
    }
    assert_eq!(created, [true, false, false, false]);
}

// A7: nothing is held between calls, and whoever has the database is asked
#[test]
fn a_server_starts_and_stops_beside_a_connection() {
    let place = Place::new();
    let mut client = Client::start(&place, &["--as", "Blue"], Era::Handshake);
    let locks = |place: &Place, client: &Client| {
        let open = std::fs::read_dir(format!("/proc/{}/fd", client.id())).unwrap();
        let files = open.filter_map(|file| std::fs::read_link(file.unwrap().path()).ok());
        files.filter(|file| file.starts_with(place.data())).count()
    };
    for _ in 0..3 {
        assert_eq!(client.call("status", &json!({})).unwrap()["agent_id"], 1);
        assert_eq!(locks(&place, &client), 0);
        let server = place.serve();
        let before = server.get("/metrics");
        for _ in 0..3 {
            assert_eq!(client.call("status", &json!({})).unwrap()["name"], "Blue");
            client.call("join", &json!({})).unwrap();
        }
        assert_ne!(server.get("/metrics"), before);
        assert_eq!(locks(&place, &client), 0);
        server.signal(rustix::process::Signal::TERM);
        // It still stops, and the next call waits for that.
        assert_eq!(client.call("status", &json!({})).unwrap()["name"], "Blue");
        assert_eq!(server.wait(), Some(0));
    }
    assert_eq!(client.end().0, Some(0));
}

// A7: a call that meets a server on its way in or out is answered all the same
#[test]
fn no_call_fails_while_servers_come_and_go() {
    let place = Place::new();
    let mut clients: Vec<_> = ["Blue", "Red"]
        .map(|name| Client::start(&place, &["--as", name], Era::Stateless))
        .into();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for client in &mut clients {
            scope.spawn(|| {
                for n in 0.. {
                    client.call("status", &json!({})).unwrap();
                    let task = json!({ "task": n.to_string() });
                    assert_eq!(
                        client.call("join", &task).unwrap()["you"]["task"],
                        n.to_string()
                    );
                    if over.load(Ordering::Relaxed) {
                        break;
                    }
                }
            });
        }
        for _ in 0..5 {
            let server = place.serve();
            server.get("/health");
            server.signal(rustix::process::Signal::TERM);
            assert_eq!(server.wait(), Some(0));
        }
        over.store(true, Ordering::Relaxed);
    });
    let agents = place.ask("agent list --as Blue").unwrap();
    assert_eq!(agents["items"].as_array().unwrap().len(), 2);
}

#[test]
fn a_trace_is_carried_through_every_door() {
    let place = Place::new();
    let mut client = Client::start(&place, &["--as", "Blue"], Era::Stateless);
    client.call("status", &json!({})).unwrap();
    let trace = |n: u32| format!("00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333{n}-01");
    let mut rename = |n: u32| {
        let meta = json!({ "traceparent": trace(n) });
        client
            .call_with("join", &json!({ "task": format!("{n}") }), &meta)
            .unwrap();
    };
    rename(1);
    let server = place.serve();
    rename(2);
    drop(server);
    let events = events(&place);
    for n in [1, 2] {
        let carried = format!("agent:1|{}|", trace(n));
        assert!(
            events.iter().any(|event| event.starts_with(&carried)),
            "{events:#?}"
        );
    }
    let long = json!({ "comity/idempotency_key": "k".repeat(9_000) });
    let refused = client.call_with("status", &json!({}), &long).unwrap_err();
    assert_eq!(
        (&refused["error"], &refused["field"]),
        (&json!("invalid"), &json!("_meta.comity/idempotency_key"))
    );
}

// S2: what is no message gets no further
#[test]
fn hostile_lines_do_not_end_a_connection() {
    for era in ERAS {
        let place = Place::new();
        let mut client = Client::start(&place, &["--as", "Blue"], era);
        let nested = "[".repeat(100_000);
        let huge = format!("{{\"x\":\"{}\"}}", "y".repeat(3 << 20));
        for line in ["", "garbage", "{", "null", "[]", "7", &nested, &huge] {
            client.send(line.as_bytes());
        }
        client.send(b"\xff\xfe{\"jsonrpc\":\"2.0\"}\x00");
        client.send(br#"{"jsonrpc":"2.0","id":"x","method":"no/such"}"#);
        client.send(br#"{"jsonrpc":"2.0","id":"y","method":"tools/call","params":7}"#);
        client.send(br#"{"jsonrpc":"2.0","id":"z","result":{}}"#);
        assert_eq!(
            client.call("status", &json!({})).unwrap()["name"],
            "Blue",
            "{era:?}"
        );
        let (exit, heard) = client.end();
        assert_eq!(exit, Some(0));
        assert!(heard.len() < 10_000, "{}", heard.len());
    }
}

#[test]
fn it_ends_when_told_or_when_its_client_is_gone() {
    let place = Place::new();
    let idle = Client::start(&place, &[], Era::Stateless);
    assert_eq!(idle.end(), (Some(0), String::new()));
    let client = Client::start(&place, &[], Era::Handshake);
    client.signal(rustix::process::Signal::TERM);
    assert_eq!(client.end().0, Some(0));
}

#[test]
fn options_that_do_not_fit_are_refused_at_the_start() {
    let place = Place::new();
    for words in ["mcp --operator", "mcp --key k", "mcp --profile wrok"] {
        assert_eq!(place.ask(words).unwrap_err().0, 3, "{words}");
    }
    assert_eq!(place.ask("mcp --url https://x").unwrap_err().0, 2);
}

// S18: the protocol's library would log whole requests
#[test]
fn the_log_does_not_repeat_what_is_said() {
    let place = Place::new();
    let mut command = place.command(&["mcp"]);
    let mut client = Client::spawn(command.env("COMITY_LOG", "trace"), Era::Stateless);
    let told = client.call("join", &json!({ "name": "Blue", "task": "canary" }));
    assert_eq!(told.unwrap()["name"], "Blue");
    let (_, heard) = client.end();
    // Once in the answer.
    assert_eq!(heard.matches("canary").count(), 1, "{heard}");
}
