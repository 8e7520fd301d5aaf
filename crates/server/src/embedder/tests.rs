//! A service that makes vectors, as it is and as it should not be.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use comity_domain::vector::ModelId;
use comity_kernel::embedder::{EmbedError, Embedder};
use serde_json::{Value, json};

use super::HttpEmbedder;

const KEY: &str = "sk-secret-0123456789";

/// What a service got: its first line and headers, and its body.
type Got = (Vec<String>, Value);

/// Answers one request with some bytes; without any it keeps silent.
fn service(answer: Option<String>) -> (SocketAddr, mpsc::Receiver<Got>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, got) = mpsc::channel();
    thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream);
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            let line = line.trim_end().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            head.push(line);
        }
        let length = head
            .iter()
            .find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.unwrap().parse().unwrap()];
        reader.read_exact(&mut body).unwrap();
        sender
            .send((head, serde_json::from_slice(&body).unwrap()))
            .unwrap();
        match answer {
            Some(answer) => reader.get_mut().write_all(answer.as_bytes()).unwrap(),
            // Until the caller gives up.
            None => {
                let _ = reader.read(&mut [0]);
            }
        }
    });
    (address, got)
}

fn answer(status: &str, body: &Value) -> String {
    let body = body.to_string();
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
}

fn asking(address: SocketAddr) -> HttpEmbedder {
    let model = ModelId::parse("acme/small").unwrap();
    HttpEmbedder::new(&format!("http://{address}/v1/"), Some(KEY), model, 2).unwrap()
}

#[test]
fn a_service_is_asked_for_vectors() {
    let data = json!({ "data": [
        { "index": 1, "embedding": [0.0, 1.0], "object": "embedding" },
        { "index": 0, "embedding": [1, 0] },
    ], "model": "whatever", "usage": {} });
    let (address, got) = service(Some(answer("200 OK", &data)));
    let vectors = asking(address).embed(&["one", "two\nlines"]).unwrap();
    let numbers: Vec<_> = vectors
        .iter()
        .map(|vector| vector.as_ref().unwrap().components().to_vec())
        .collect();
    assert_eq!(numbers, [vec![1.0, 0.0], vec![0.0, 1.0]]);
    let (head, body) = got.recv().unwrap();
    assert_eq!(head[0], "post /v1/embeddings http/1.1");
    assert!(head.contains(&format!("authorization: bearer {KEY}")));
    let wanted = json!({ "model": "acme/small", "input": ["one", "two\nlines"], "encoding_format": "float" });
    assert_eq!(body, wanted);
}

#[test]
fn a_service_that_fails_is_told_of_without_the_key() {
    let refused = json!({ "error": format!("bad key {KEY}\u{1b}[2J") });
    let vectors = |data: Value| json!({ "data": data });
    for (status, body, said) in [
        ("401 Unauthorized", refused, "answered 401"),
        ("200 OK", json!({ "data": "none" }), "answered no vectors"),
        ("200 OK", vectors(json!([])), "answered 0 vectors to 1"),
        (
            "200 OK",
            vectors(json!([{ "index": 1, "embedding": [1, 0] }])),
            "numbered them wrongly",
        ),
        (
            "200 OK",
            vectors(json!([{ "index": 0, "embedding": [0, 0] }])),
            "zero in every place",
        ),
        (
            "200 OK",
            vectors(json!([{ "index": 0, "embedding": [1e40, 0] }])),
            "finite",
        ),
        ("302 Found", json!({}), "answered 302"),
        (
            "200 OK",
            json!({ "data": [], "more": "x".repeat(9_000) }),
            "more than",
        ),
    ] {
        let (address, _got) = service(Some(answer(status, &body)));
        let error = asking(address).embed(&["one"]).unwrap_err().to_string();
        assert!(error.contains(said), "{said}: {error}");
        assert!(!error.contains(KEY) && !error.contains('\u{1b}'), "{error}");
    }
}

#[test]
fn a_silent_service_is_given_up() {
    let (address, _got) = service(None);
    let impatient = asking(address).within(Duration::from_millis(100));
    let error = impatient.embed(&["one"]).unwrap_err();
    assert!(matches!(&error, EmbedError::Refused(_)), "{error}");
    assert!(error.to_string().contains("in time"), "{error}");
    let gone = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let error = asking(gone).embed(&["one"]).unwrap_err();
    assert!(matches!(&error, EmbedError::Away(_)), "{error}");
}

#[test]
fn a_bad_text_is_told_from_a_service_that_lets_nobody_in() {
    for (status, is_away) in [
        ("400 Bad Request", false),
        ("413 Too Large", false),
        ("500 Internal Server Error", false),
        ("401 Unauthorized", true),
        ("404 Not Found", true),
        ("429 Too Many Requests", true),
        ("503 Service Unavailable", true),
    ] {
        let (address, _got) = service(Some(answer(status, &json!({}))));
        let error = asking(address).embed(&["one"]).unwrap_err();
        let told = matches!(&error, EmbedError::Away(_));
        assert_eq!(told, is_away, "{status}: {error}");
    }
}
