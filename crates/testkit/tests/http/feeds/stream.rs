//! A client of server-sent events.

use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use comity_testkit::served::{Answer, Call, PATIENCE, read_answer};
use serde_json::Value;

use crate::town::Town;

/// An open stream.
pub(super) struct Stream {
    lines: BufReader<Chunks>,
    /// What the stream said last about where it is.
    pub(super) last: i64,
}

/// One event as it came.
#[derive(Debug, PartialEq)]
pub(super) struct Came {
    pub(super) seq: i64,
    pub(super) kind: String,
    pub(super) event: Value,
}

/// A body in chunks, and how much of the present one is left.
struct Chunks {
    stream: BufReader<TcpStream>,
    left: usize,
}

impl Read for Chunks {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            let mut line = String::new();
            self.stream.read_line(&mut line)?;
            if line.is_empty() {
                return Ok(0);
            }
            self.left = usize::from_str_radix(line.trim_end(), 16).map_err(io::Error::other)?;
            if self.left == 0 {
                return Ok(0);
            }
        }
        let most = buffer.len().min(self.left);
        let read = self.stream.read(&mut buffer[..most])?;
        self.left -= read;
        if self.left == 0 {
            self.stream.read_exact(&mut [0; 2])?;
        }
        Ok(read)
    }
}

impl Stream {
    /// Opens a stream that must be open to this token.
    pub(super) fn open(town: &Town, token: &str, query: &str) -> Self {
        let call = Call::get(&format!("/api/events/stream{query}"));
        Self::call(town, &call.token(token)).unwrap_or_else(|answer| panic!("{}", answer.text()))
    }

    /// Opens a stream, or returns the refusal.
    pub(super) fn call(town: &Town, call: &Call) -> Result<Self, Answer> {
        let mut stream = town.served.connect();
        let bytes = call.bytes(&town.served.addr().to_string());
        stream.write_all(&bytes).unwrap();
        Self::on(stream)
    }

    /// Reads the head of an answer; a refusal has a length, a stream has none.
    pub(super) fn on(stream: TcpStream) -> Result<Self, Answer> {
        let mut head = Vec::new();
        let mut stream = stream;
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.extend(byte);
        }
        if !head.starts_with(b"HTTP/1.1 200") {
            let mut whole = head.chain(stream);
            return Err(read_answer(&mut whole, "GET").unwrap());
        }
        let text = String::from_utf8_lossy(&head).to_lowercase();
        assert!(text.contains("content-type: text/event-stream"), "{text}");
        assert!(text.contains("cache-control: no-store"), "{text}");
        let stream = BufReader::new(stream);
        let mut opened = Self {
            lines: BufReader::new(Chunks { stream, left: 0 }),
            last: -1,
        };
        // The first thing it says is where it is.
        let first = opened.block().unwrap();
        assert_eq!(first, None);
        assert!(opened.last >= 0);
        Ok(opened)
    }

    /// Waits for the next event; `None` at the end.
    pub(super) fn next(&mut self) -> Option<Came> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            // Signs of life alone are not what a test waits for.
            assert!(Instant::now() < deadline, "nothing came");
            match self.block() {
                Ok(Some(came)) => return Some(came),
                Ok(None) => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return None,
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Fails if anything but signs of life comes within this time.
    pub(super) fn must_be_silent(&mut self, time: Duration) {
        let socket = |it: &Self| it.lines.get_ref().stream.get_ref().try_clone().unwrap();
        socket(self).set_read_timeout(Some(time)).unwrap();
        match self.block() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            other => panic!("{other:?}"),
        }
        socket(self).set_read_timeout(Some(PATIENCE)).unwrap();
    }

    /// Reads up to an empty line: an event, or a sign of life.
    fn block(&mut self) -> io::Result<Option<Came>> {
        let (mut kind, mut data) = (String::new(), String::new());
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let line = line.strip_suffix('\n').expect("a whole line");
            match line.split_once(": ") {
                Some(("id", id)) => self.last = id.parse().expect("a number"),
                Some(("event", it)) => it.clone_into(&mut kind),
                Some(("data", it)) => it.clone_into(&mut data),
                None if line.is_empty() => break,
                _ => assert_eq!(line, ": alive"),
            }
        }
        if data.is_empty() {
            return Ok(None);
        }
        let event: Value = serde_json::from_str(&data).expect("JSON");
        assert_eq!(event["seq"], self.last, "the id is the place");
        assert_eq!(event["kind"], kind.as_str());
        let seq = self.last;
        Ok(Some(Came { seq, kind, event }))
    }
}
