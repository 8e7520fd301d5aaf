//! The smallest HTTP client that can misbehave.

use std::io::{self, Read, Write};

use comity_kernel::error::CODES;
use serde_json::Value;

/// One request, built from its parts.
#[derive(Clone, Debug)]
pub struct Call {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Call {
    /// A request with any method and no body.
    pub fn new(method: &str, path: &str) -> Self {
        Self {
            method: method.to_owned(),
            path: path.to_owned(),
            headers: Vec::new(),
            body: None,
        }
    }

    /// A read.
    pub fn get(path: &str) -> Self {
        Self::new("GET", path)
    }

    /// A write with a JSON body.
    pub fn post(path: &str, body: &Value) -> Self {
        Self::new("POST", path).json(body)
    }

    /// Presents a token.
    #[must_use]
    pub fn token(self, token: &str) -> Self {
        self.header("Authorization", &format!("Bearer {token}"))
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets a JSON body.
    #[must_use]
    pub fn json(self, body: &Value) -> Self {
        self.body(body.to_string().as_bytes())
    }

    /// Sets the bytes of a body that claims to be JSON.
    #[must_use]
    pub fn body(mut self, body: &[u8]) -> Self {
        self.body = Some(body.to_owned());
        self.header("Content-Type", "application/json")
    }

    /// Sets a body of bytes as they are.
    #[must_use]
    pub fn octets(mut self, body: &[u8]) -> Self {
        self.body = Some(body.to_owned());
        self.header("Content-Type", "application/octet-stream")
    }

    /// Writes the request down for a host.
    pub fn bytes(&self, host: &str) -> Vec<u8> {
        let mut lines = vec![
            format!("{} {} HTTP/1.1", self.method, self.path),
            format!("Host: {host}"),
        ];
        let given = self.headers.iter();
        lines.extend(given.map(|(name, value)| format!("{name}: {value}")));
        let length = self.body.as_ref().map(Vec::len);
        lines.extend(length.map(|length| format!("Content-Length: {length}")));
        let mut bytes = lines.join("\r\n").into_bytes();
        bytes.extend(b"\r\n\r\n");
        bytes.extend(self.body.iter().flatten());
        bytes
    }

    /// Sends what [`Call::bytes`] wrote and reads the answer; an error must be as every error is.
    pub(super) fn exchange(&self, stream: &mut (impl Read + Write), bytes: &[u8]) -> Answer {
        stream.write_all(bytes).expect("the server takes it");
        let answer = read_answer(stream, &self.method).expect("an answer");
        if self.method != "HEAD" && answer.status >= 400 {
            answer.must_be_an_error();
        }
        answer
    }
}

impl Answer {
    /// Returns a header that is there exactly once.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        let value = found.next().map(|(_, value)| value.as_str());
        assert!(found.next().is_none(), "`{name}` twice: {self:?}");
        value
    }

    /// Returns the body as text.
    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).expect("a body in UTF-8")
    }

    /// Returns the body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", self.status))
    }

    /// Returns the status and the word of an error.
    pub fn refusal(&self) -> (u16, String) {
        let word = self.json()["error"].as_str().unwrap_or_default().to_owned();
        (self.status, word)
    }

    /// Fails unless this is an error as every surface shows it: a known word with its own status, a
    /// message, a hint, and how long to wait where waiting helps.
    pub fn must_be_an_error(&self) {
        let shown = self.json();
        let word = shown["error"].as_str().expect("a code");
        let code = CODES.iter().find(|code| code.word == word);
        let code = code.unwrap_or_else(|| panic!("`{word}` is no code"));
        assert_eq!(self.status, code.status, "{shown}");
        for said in ["message", "hint"] {
            let said = shown[said].as_str().unwrap_or_default();
            assert!(!said.is_empty(), "{shown}");
        }
        let wait = shown.get("retry_after_ms").and_then(Value::as_u64);
        let header = self.header("retry-after").and_then(|it| it.parse().ok());
        assert_eq!(wait.map(|ms| ms.div_ceil(1_000)), header, "{shown}");
        if matches!(word, "busy" | "rate_limited" | "storage_full") {
            assert!(wait.is_some(), "{shown}");
        }
        let challenged = self.header("www-authenticate").is_some();
        assert_eq!(challenged, self.status == 401, "{self:?}");
        assert_eq!(self.header("content-type"), Some("application/json"));
    }
}

/// Sends bytes, however many are taken, and reads one answer.
pub(super) fn raw(stream: &mut (impl Read + Write), bytes: &[u8]) -> Option<Answer> {
    // A server that has answered need not take the rest.
    let _ = stream.write_all(bytes);
    let method = bytes.split(|byte| *byte == b' ').next().unwrap_or_default();
    read_answer(stream, &String::from_utf8_lossy(method)).ok()
}

/// Reads one answer to a request with this method; what follows it stays in the stream.
///
/// It reads byte by byte: slow, and never too far.
pub fn read_answer(stream: &mut impl Read, method: &str) -> io::Result<Answer> {
    loop {
        let head = read_head(stream)?;
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1));
        let status = status.and_then(|status| status.parse().ok());
        let status: u16 = status.ok_or_else(|| io::Error::other(head.clone()))?;
        if status < 200 {
            continue;
        }
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let length = headers.iter().find(|(name, _)| name == "content-length");
        let length = length.map(|(_, length)| length.parse::<u64>().expect("a length"));
        let mut body = Vec::new();
        if method != "HEAD" {
            let length = length.unwrap_or(u64::MAX);
            stream.by_ref().take(length).read_to_end(&mut body)?;
        }
        return Ok(Answer {
            status,
            headers,
            body,
        });
    }
}

fn read_head(stream: &mut impl Read) -> io::Result<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.extend(byte);
    }
    String::from_utf8(head).map_err(io::Error::other)
}
