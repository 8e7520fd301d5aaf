//! A client of web sockets that can misbehave.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;

use comity_testkit::served::{Answer, Call, read_answer};
use serde_json::{Value, json};

use crate::town::Town;

/// An open socket.
pub(super) struct Wire {
    pub(super) stream: TcpStream,
    /// What the server said first.
    pub(super) hello: i64,
}

/// What the server says.
#[derive(Debug, PartialEq)]
pub(super) enum Heard {
    /// A message.
    Said(Value),
    /// The end, with its code and reason.
    Closed(u16, String),
    /// The end, without a word.
    Gone,
}

impl Wire {
    /// A request to open a socket.
    pub(super) fn request(path: &str) -> Call {
        Call::get(path)
            .header("Connection", "Upgrade")
            .header("Upgrade", "websocket")
            .header("Sec-WebSocket-Version", "13")
            .header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
    }

    /// Opens a socket that must be open to this token.
    pub(super) fn open(town: &Town, token: &str, path: &str) -> Self {
        let call = Self::request(path).token(token);
        Self::call(town, &call).unwrap_or_else(|answer| panic!("{}", answer.text()))
    }

    /// Opens a socket, or returns the refusal.
    pub(super) fn call(town: &Town, call: &Call) -> Result<Self, Answer> {
        let mut stream = town.served.connect();
        let bytes = call.bytes(&town.served.addr().to_string());
        stream.write_all(&bytes).unwrap();
        Self::on(stream)
    }

    /// Reads the head of an answer, and what a socket says first.
    pub(super) fn on(mut stream: TcpStream) -> Result<Self, Answer> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.extend(byte);
        }
        if !head.starts_with(b"HTTP/1.1 101") {
            return Err(read_answer(&mut head.chain(stream), "GET").unwrap());
        }
        let mut wire = Self { stream, hello: 0 };
        let Heard::Said(hello) = wire.hear() else {
            panic!("no hello");
        };
        assert_eq!(hello["type"], "hello");
        wire.hello = hello["as_of_seq"].as_i64().unwrap();
        Ok(wire)
    }

    /// Says something.
    pub(super) fn say(&mut self, said: &Value) {
        self.frame(1, said.to_string().as_bytes());
    }

    /// Starts again from behind a place.
    pub(super) fn subscribe(&mut self, since: i64) {
        self.say(&json!({ "type": "subscribe", "since": since }));
        let answer = Heard::Said(json!({ "type": "subscribed", "since": since }));
        // What was on its way before is not what was asked for.
        while let heard = self.hear()
            && heard != answer
        {
            assert!(matches!(heard, Heard::Said(_)), "{heard:?}");
        }
    }

    /// Sends one frame, masked with zeros, as far as it is taken.
    pub(super) fn frame(&mut self, kind: u8, payload: &[u8]) {
        let mut bytes = vec![0x80 | kind];
        match payload.len() {
            length @ 0..126 => bytes.push(0x80 | u8::try_from(length).unwrap()),
            length @ 126..65_536 => {
                bytes.push(0x80 | 0x7e);
                bytes.extend(u16::try_from(length).unwrap().to_be_bytes());
            }
            length => {
                bytes.push(0x80 | 0x7f);
                bytes.extend((length as u64).to_be_bytes());
            }
        }
        bytes.extend([0; 4]);
        bytes.extend(payload);
        let _ = self.stream.write_all(&bytes);
    }

    /// Waits for the next thing the server says.
    pub(super) fn hear(&mut self) -> Heard {
        match self.read() {
            Ok(heard) => heard,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => panic!("{error}"),
            Err(_) => Heard::Gone,
        }
    }

    fn read(&mut self) -> io::Result<Heard> {
        let mut head = [0; 2];
        self.stream.read_exact(&mut head)?;
        let length = match head[1] {
            126 => {
                let mut more = [0; 2];
                self.stream.read_exact(&mut more)?;
                usize::from(u16::from_be_bytes(more))
            }
            127 => {
                let mut more = [0; 8];
                self.stream.read_exact(&mut more)?;
                usize::try_from(u64::from_be_bytes(more)).unwrap()
            }
            length => usize::from(length),
        };
        let mut payload = vec![0; length];
        self.stream.read_exact(&mut payload)?;
        if head[0] == 0x88 {
            let code = u16::from_be_bytes([payload[0], payload[1]]);
            let reason = String::from_utf8_lossy(&payload[2..]).into_owned();
            return Ok(Heard::Closed(code, reason));
        }
        assert_eq!(head[0], 0x81, "a whole text");
        Ok(Heard::Said(serde_json::from_slice(&payload)?))
    }

    /// Waits for the next event.
    pub(super) fn event(&mut self) -> Value {
        match self.hear() {
            Heard::Said(mut event) => {
                let object = event.as_object_mut().unwrap();
                assert_eq!(object.remove("type"), Some(json!("event")));
                event
            }
            other => panic!("{other:?}"),
        }
    }
}
