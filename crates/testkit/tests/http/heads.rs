//! Hostile heads: lines, headers, URLs. Nothing here reaches the database: SQLite alone.

use std::io::{Read as _, Write as _};
use std::time::Duration;

use comity_testkit::served::{Answer, Call, read_answer};
use comity_testkit::{Engine, Kit};
use serde_json::json;

use crate::town::{Town, every_route, path};

/// Sends a request whose head holds anything; the server must not make a 500 of it, and lives.
fn refused(town: &Town, bytes: &[u8]) -> Option<Answer> {
    let answer = town.served.raw(bytes);
    if let Some(answer) = &answer {
        let shown = String::from_utf8_lossy(bytes)
            .chars()
            .take(200)
            .collect::<String>();
        assert!(
            (400..500).contains(&answer.status),
            "{}: {shown}",
            answer.status
        );
    }
    town.must_be_well();
    answer
}

// S1: byte by byte for ever, or nothing at all
#[test]
fn a_head_that_does_not_come_is_given_up() {
    let town = Town::around(Kit::new(Engine::Sqlite), |_, patience| {
        patience.head = Duration::from_millis(500);
    });
    for drip in [b"".as_slice(), b"G", b"GET /health HTTP/1.1\r\n"] {
        let mut stream = town.served.connect();
        stream.write_all(drip).unwrap();
        let mut dripped = 0_usize;
        loop {
            // Every byte would restart a limit that looked at silence alone.
            let silence = Some(Duration::from_millis(20));
            stream.set_read_timeout(silence).unwrap();
            match stream.read(&mut [0; 512]) {
                Ok(0) => break,
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => break,
                Err(_) if !drip.is_empty() => {
                    // It may have closed in between.
                    let _ = stream.write_all(b"x");
                }
                _ => {}
            }
            dripped += 1;
            assert!(dripped < 500, "{drip:?} is waited for");
        }
        town.must_be_well();
    }
    // Between two requests the same holds.
    let mut stream = town.served.connect();
    let call = Call::get("/health").bytes(&town.served.addr().to_string());
    stream.write_all(&call).unwrap();
    assert_eq!(read_answer(&mut stream, "GET").unwrap().status, 200);
    assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0);
}

// S1
#[test]
fn a_head_too_large_is_refused_and_closed() {
    let town = Town::small();
    let head = town.head("GET /api/projects");
    let long = format!("{head}X-Long: {}\r\n\r\n", "x".repeat(256 * 1_024));
    let many: Vec<String> = (0..200).map(|n| format!("X-{n}: x\r\n")).collect();
    let many = many.concat();
    let many = format!("{head}{many}\r\n");
    let url = town.head(&format!(
        "GET /api/projects?after={}",
        "1".repeat(256 * 1_024)
    ));
    for request in [long, many, format!("{url}\r\n")] {
        let answer = refused(&town, request.as_bytes()).unwrap();
        assert!(
            [400, 414, 431].contains(&answer.status),
            "{}",
            answer.status
        );
        let mut stream = town.served.connect();
        let _ = stream.write_all(request.as_bytes());
        // It ends; whether by a reset depends on how much was on its way.
        let _ = stream.read_to_end(&mut Vec::new());
    }
}

// S6 S7: never a lossy conversion, never a 500
#[test]
fn a_url_that_is_not_text_is_refused_on_every_route() {
    let town = Town::small();
    for bad in [
        "%ff",
        "%c0%af",
        "%ed%a0%80",
        "%00",
        "a%00b",
        "%0a",
        "%e2%80%ae",
    ] {
        for (operation, route) in every_route() {
            let method = route.method.as_str();
            let call = |path: &str| {
                let call = Call::new(method, path);
                if route.method.has_body() {
                    call.json(&json!({}))
                } else {
                    call
                }
            };
            let token = if operation.who.contains(&comity_kernel::Party::Operator) {
                &town.operator
            } else {
                &town.blue.token
            };
            let mut paths = vec![format!("{}?project={bad}", path(route, |_| "1".to_owned()))];
            paths.push(format!("{}?{bad}=1", path(route, |_| "1".to_owned())));
            if !route.fields.is_empty() {
                paths.push(path(route, |_| bad.to_owned()));
            }
            for path in paths {
                let answer = town.call(call(&path), token);
                let no_text =
                    bad.starts_with("%ff") || bad.starts_with("%c0") || bad.starts_with("%ed");
                let read = !route.method.has_body() || !path.contains('?');
                let fault = if no_text && read {
                    answer.status == 400
                } else {
                    [400, 404, 422].contains(&answer.status)
                };
                assert!(fault, "{method} {path}: {}", answer.text());
            }
        }
    }
    // What the parser itself refuses.
    for path in [
        "/api/\u{e4}",
        "/api/\u{7f}",
        "/api/a b",
        "/api/\t",
        "api",
        "",
    ] {
        let request = format!("{}\r\n", town.head(&format!("GET {path}")));
        refused(&town, request.as_bytes());
    }
    refused(&town, town.head("GET /\0").as_bytes());
    town.must_be_well();
}

// S6 S7
#[test]
fn a_header_that_is_not_text_is_refused() {
    let town = Town::small();
    let addr = town.served.addr();
    let token = town.operator.as_bytes();
    let request = |name: &str, value: &[u8], authorized: &[u8]| {
        let body = json!({ "key": "/srv/new" }).to_string();
        let mut bytes = format!("POST /api/projects HTTP/1.1\r\nHost: {addr}\r\n").into_bytes();
        bytes.extend(b"Content-Type: application/json\r\n");
        bytes.extend(format!("Content-Length: {}\r\n", body.len()).bytes());
        bytes.extend([b"Authorization: Bearer ", authorized, b"\r\n"].concat());
        bytes.extend([name.as_bytes(), b": ", value, b"\r\n\r\n", body.as_bytes()].concat());
        bytes
    };
    for bad in [
        b"\xff\xfe".as_slice(),
        b"a\0b",
        "\u{e4}".as_bytes(),
        b"a\x01b",
    ] {
        let mut spoilt = token.to_vec();
        spoilt.extend(bad);
        let answer = refused(&town, &request("X-Other", b"x", &spoilt)).unwrap();
        assert!([400, 401].contains(&answer.status), "{}", answer.status);
        let answer = refused(&town, &request("Idempotency-Key", bad, token)).unwrap();
        assert!([400, 422].contains(&answer.status), "{}", answer.status);
        refused(&town, &request("Host", bad, token));
        refused(&town, &request("Origin", bad, token));
        refused(&town, &request("Content-Encoding", bad, token));
        refused(&town, &request("If-Match", bad, token));
    }
    for key in ["", &"k".repeat(129)] {
        let answer = refused(&town, &request("Idempotency-Key", key.as_bytes(), token)).unwrap();
        assert_eq!(answer.refusal(), (422, "invalid".to_owned()), "{key}");
    }
    // These two are only passed over: they change nothing.
    for name in ["traceparent", "X-Request-Id"] {
        let answer = town.served.raw(&request(name, b"\xff", token)).unwrap();
        assert!([200, 201].contains(&answer.status), "{name}");
    }
    let twice = b"k\r\nIdempotency-Key: l";
    let answer = refused(&town, &request("Idempotency-Key", twice, token));
    assert_eq!(answer.unwrap().refusal(), (422, "invalid".to_owned()));
}

// S16: nobody may disagree with us about where a request ends
#[test]
fn a_request_with_two_lengths_is_refused() {
    let town = Town::small();
    let head = town.head("POST /api/projects") + "Content-Type: application/json\r\n";
    let body = json!({ "key": "/srv/smuggled" }).to_string();
    let length = body.len();
    for lengths in [
        format!("Content-Length: {length}\r\nContent-Length: 0\r\n"),
        format!("Content-Length: {length}, 0\r\n"),
        format!("Content-Length: +{length}\r\n"),
        format!("Content-Length: -{length}\r\n"),
        format!("Content-Length: 0x{length:x}\r\n"),
        "Transfer-Encoding: gzip\r\n".to_owned(),
        "Transfer-Encoding: chunked, gzip\r\n".to_owned(),
        "Transfer-Encoding: xchunked\r\n".to_owned(),
        "Transfer-Encoding : chunked\r\n".to_owned(),
        "Content-Length : 5\r\n".to_owned(),
    ] {
        let answer = refused(&town, format!("{head}{lengths}\r\n{body}").as_bytes());
        assert!(answer.is_some(), "{lengths}");
    }
    let old = format!("{head}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
        .replace("HTTP/1.1", "HTTP/1.0");
    refused(&town, old.as_bytes());
}

// S16: with both, the chunks count (RFC 9112, 6.1), the connection ends, and what follows them is
// never taken for a request
#[test]
fn nothing_is_smuggled_behind_a_chunked_body() {
    let town = Town::small();
    let head = town.head("POST /api/projects") + "Content-Type: application/json\r\n";
    let hidden = town.head("DELETE /api/agents/Blue?project=web") + "\r\n";
    for lengths in [
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
    ] {
        let mut stream = town.served.connect();
        let request = format!("{head}{lengths}\r\n0\r\n\r\n{hidden}");
        stream.write_all(request.as_bytes()).unwrap();
        let answer = read_answer(&mut stream, "POST").unwrap();
        assert!((400..500).contains(&answer.status), "{}", answer.text());
        let mut rest = Vec::new();
        // Closing with unread bytes resets the connection.
        let _ = stream.read_to_end(&mut rest);
        assert!(rest.is_empty(), "{}", String::from_utf8_lossy(&rest));
        let blue = town.served.get("/api/orient", &town.blue.token);
        assert_eq!(blue.status, 200);
    }
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let town = Town::small();
    let host = town.served.addr().to_string();
    let call = |n: usize| {
        let call = match n % 3 {
            0 => Call::get("/api/projects"),
            1 => Call::post("/api/projects", &json!({ "key": format!("/srv/{n}") })),
            _ => Call::get("/api/unknown"),
        };
        call.token(&town.operator)
            .header("X-Request-Id", &n.to_string())
            .bytes(&host)
    };
    let mut stream = town.served.connect();
    let requests: Vec<u8> = (0..30).flat_map(call).collect();
    stream.write_all(&requests).unwrap();
    for n in 0..30 {
        let answer = read_answer(&mut stream, "GET").unwrap();
        assert_eq!(answer.header("x-request-id"), Some(n.to_string().as_str()));
        assert_eq!(answer.status, [200, 201, 404][n % 3]);
    }
}

// S6: not HTTP at all, or another one
#[test]
fn what_is_not_http_ends_the_connection() {
    let town = Town::small();
    for bytes in [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".as_slice(),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\r\n\r\n",
        b"\0\0\0\0\r\n\r\n",
        b"SSH-2.0-x\r\n\r\n",
        b"CONNECT evil.com:80 HTTP/1.1\r\nHost: evil.com:80\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
    ] {
        refused(&town, bytes);
    }
}
