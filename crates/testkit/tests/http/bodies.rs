//! Hostile bodies. Nothing here reaches the database: SQLite alone stands behind it.

use std::io::{ErrorKind, Write as _};
use std::time::{Duration, Instant};

use comity_domain::limits::REQUEST_BYTES_MAX;
use comity_testkit::served::{Answer, Call, read_answer};
use comity_testkit::{Engine, Kit};
use serde_json::{Map, Value, json};

use crate::town::Town;

fn post(town: &Town, body: &[u8]) -> Answer {
    let call = Call::new("POST", "/api/projects").body(body);
    let answer = town.call(call, &town.operator);
    town.must_be_well();
    answer
}

// S1: what is announced is not waited for
#[test]
fn an_announced_hundred_megabytes_are_refused_at_once() {
    let town = Town::small();
    for length in ["100000000", "18446744073709551615", "99999999999999999999"] {
        let head = town.head("POST /api/projects");
        let head =
            format!("{head}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n");
        let begun = Instant::now();
        let answer = town.served.raw(head.as_bytes()).unwrap();
        // The last two are no lengths to hyper, which answers by itself.
        assert!(
            [400, 413, 431].contains(&answer.status),
            "{length}: {}",
            answer.status
        );
        assert!(begun.elapsed() < Duration::from_secs(5), "{length}");
        town.must_be_well();
    }
    let head = town.head("POST /api/projects");
    let head = format!("{head}Expect: 100-continue\r\nContent-Length: 100000000\r\n\r\n");
    let mut stream = town.served.connect();
    stream.write_all(head.as_bytes()).unwrap();
    let answer = read_answer(&mut stream, "POST").unwrap();
    assert_eq!(answer.refusal(), (413, "too_large".to_owned()));
}

// S1: nobody who may not call makes the server read
#[test]
fn strangers_bodies_are_not_read() {
    let town = Town::small();
    let addr = town.served.addr();
    let head =
        format!("POST /api/projects HTTP/1.1\r\nHost: {addr}\r\nContent-Length: 1000000\r\n\r\n");
    assert_eq!(town.served.raw(head.as_bytes()).unwrap().status, 401);
    let head = town
        .head("POST /api/projects")
        .replace(&town.operator, &town.blue.token);
    let head = format!("{head}Content-Length: 1000000\r\n\r\n");
    assert_eq!(town.served.raw(head.as_bytes()).unwrap().status, 403);
}

// S1
#[test]
fn an_endless_body_is_cut_off_at_its_limit() {
    let town = Town::small();
    let head = town.head("POST /api/projects");
    let mut stream = town.served.connect();
    let head =
        format!("{head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x1_0000));
    let mut taken = 0;
    // The sockets hold some megabytes beside what the server reads.
    while taken < 64 * REQUEST_BYTES_MAX && stream.write_all(chunk.as_bytes()).is_ok() {
        taken += chunk.len();
    }
    assert!(taken >= REQUEST_BYTES_MAX, "cut off at {taken}");
    assert!(taken < 64 * REQUEST_BYTES_MAX, "never cut off");
    let answer = read_answer(&mut stream, "POST").unwrap();
    assert_eq!(answer.refusal(), (413, "too_large".to_owned()));
    town.must_be_well();
}

// S1: the whole megabyte is taken, one byte more is not
#[test]
fn the_limit_of_a_body_is_exact() {
    let town = Town::small();
    let body = |bytes: usize| {
        let mut body = br#"{"key":"/srv/large"}"#.to_vec();
        body.resize(bytes, b' ');
        body
    };
    assert_eq!(post(&town, &body(REQUEST_BYTES_MAX)).status, 201);
    let refused = post(&town, &body(REQUEST_BYTES_MAX + 1)).refusal();
    assert_eq!(refused, (413, "too_large".to_owned()));
}

// S1
#[test]
fn a_slow_body_is_given_up() {
    let town = Town::around(Kit::new(Engine::Sqlite), |_, patience| {
        patience.body = Duration::from_millis(300);
    });
    let head = town.head("POST /api/projects");
    let head =
        format!("{head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{\"key");
    let answer = town.served.raw(head.as_bytes()).unwrap();
    assert_eq!(answer.refusal(), (408, "too_slow".to_owned()));
    town.must_be_well();
}

// S1: a client that takes nothing of its answers is dropped
#[test]
fn a_client_that_does_not_read_is_dropped() {
    let town = Town::around(Kit::new(Engine::Sqlite), |_, patience| {
        patience.stuck = Duration::from_millis(300);
    });
    let call = Call::get("/api/openapi.json").bytes(&town.served.addr().to_string());
    let mut stream = town.served.connect();
    // Answers fill the buffers of both sides, then requests do; then nothing moves.
    let mut asked = 0_usize;
    let ended = loop {
        if let Err(error) = stream.write_all(&call) {
            break error.kind();
        }
        asked += 1;
        assert!(asked < 1_000_000, "everything is taken");
    };
    let dropped = [ErrorKind::ConnectionReset, ErrorKind::BrokenPipe].contains(&ended);
    assert!(dropped, "it was waited for: {ended}");
    town.must_be_well();
}

// S1: a small body must not become a large one
#[test]
fn a_compressed_body_and_one_of_another_type_are_refused() {
    let town = Town::small();
    let key = json!({ "key": "/srv/new" }).to_string();
    let refused = |headers: &str| {
        let length = key.len();
        let head = town.head("POST /api/projects");
        let request = format!("{head}{headers}Content-Length: {length}\r\n\r\n{key}");
        let answer = town.served.raw(request.as_bytes()).unwrap();
        town.must_be_well();
        answer.refusal()
    };
    let json = "Content-Type: application/json\r\n";
    for coding in ["gzip", "br", "deflate", "identity, gzip", "x"] {
        let refused = refused(&format!("{json}Content-Encoding: {coding}\r\n"));
        assert_eq!(refused, (400, "not_json".to_owned()), "{coding}");
    }
    let two = refused(&format!(
        "{json}Content-Encoding: identity\r\nContent-Encoding: gzip\r\n"
    ));
    assert_eq!(two, (400, "not_json".to_owned()));
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "application/jsonx",
    ] {
        let refused = refused(&format!("Content-Type: {kind}\r\n"));
        assert_eq!(refused, (400, "not_json".to_owned()), "{kind}");
    }
    assert_eq!(refused(""), (400, "not_json".to_owned()));
    assert_eq!(
        refused(&format!("Content-Type: text/plain\r\n{json}")),
        (400, "not_json".to_owned())
    );
}

// S2 S6 S7: 400 is not JSON, 422 is a field
#[test]
fn what_is_not_json_is_400() {
    let town = Town::small();
    let deep = |open: &str, close: &str| {
        let nested = open.repeat(100_000) + &close.repeat(100_000);
        format!("{{\"key\":{nested}}}").into_bytes()
    };
    let bodies: [&[u8]; 21] = [
        b"{",
        b"nul",
        b"{}{}",
        b"{\"key\":\"/srv/a\",\"key\":\"/srv/b\"}",
        b"{\"key\":\"/srv/a\",\"ke\\u0079\":\"/srv/b\"}",
        b"{\"key\":1e999}",
        b"{\"key\":NaN}",
        b"{\"key\":\"/srv/\xff\"}",
        b"{\"key\":\"/srv/\xc0\xaf\"}",
        b"{\"key\":\"/srv/\xed\xa0\x80\"}",
        b"{\"key\":\"/srv/\\ud800\"}",
        b"\xef\xbb\xbf{\"key\":\"/srv/a\"}",
        b"\xff\xfe{\0}\0",
        b"{\"key\":\"/srv/\0\"}",
        b"{\"key\":\"/srv/\\u0000\"}",
        b"{\"key\":\"/srv/a\",\"name\":\"a\\u0000b\"}",
        b"{\"key\":'x'}",
        b"{\"key\":\"/srv/a\",}",
        b"{\"key\":\"/srv/a\" /* x */}",
        &deep("[", "]"),
        &deep("{\"a\":", "}")[..500_000],
    ];
    for body in bodies {
        let start = String::from_utf8_lossy(&body[..body.len().min(40)]).into_owned();
        let answer = post(&town, body);
        assert_eq!(answer.refusal(), (400, "not_json".to_owned()), "{start}");
    }
}

// S2 S3 S7: JSON, but not what the operation takes
#[test]
fn what_is_json_but_no_request_is_422() {
    let town = Town::small();
    let many = |count: usize| format!("{{\"key\":[{}1]}}", "1,".repeat(count));
    for body in [
        "[]",
        "null",
        "7",
        "\"x\"",
        "{}",
        "{\"key\":null}",
        "{\"key\":[]}",
        "{\"key\":\"\"}",
        "{\"key\":\"/srv/a\",\"unknown\":1}",
        "{\"key\":1e308}",
    ] {
        let answer = post(&town, body.as_bytes());
        assert_eq!(answer.refusal(), (422, "invalid".to_owned()), "{body}");
    }
    // S3
    let answer = post(&town, many(400_000).as_bytes());
    assert!([400, 422].contains(&answer.status), "{}", answer.status);
    let answer = post(&town, many(1_000_000).as_bytes());
    assert_eq!(answer.refusal(), (413, "too_large".to_owned()));
    let keys: Map<String, Value> = (0..80_000).map(|n| (n.to_string(), json!(1))).collect();
    let answer = post(&town, Value::Object(keys).to_string().as_bytes());
    assert!([400, 422].contains(&answer.status), "{}", answer.status);
    let capabilities: Vec<String> = (0..60_000).map(|n| n.to_string()).collect();
    let agent = json!({
        "project": "web", "program": "p", "model": "m", "capabilities": capabilities,
    });
    let call = Call::post("/api/agents", &agent);
    assert!([400, 422].contains(&town.call(call, &town.operator).status));
    town.must_be_well();
}
