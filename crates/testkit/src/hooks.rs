//! Hooks that tests need, and somebody who is told.

use std::io::{BufRead, BufReader, Read as _, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver as Heard, RecvTimeoutError, channel};
use std::time::Duration;

use comity_domain::{HookId, Seq};
use comity_kernel::hook::AddHook;
use comity_kernel::hook::queue::{Ended, Taken, Tried, Waiting};
use comity_kernel::hook::work::HookWork;
use comity_kernel::{Actor, Kernel};
use serde_json::{Value, json};

use crate::Kit;
use crate::kit::request;

/// Adds a hook to nowhere whose first event was given up, in a database that nobody serves yet.
pub fn plant_dead_letter(kit: &Kit) -> (HookId, Seq) {
    let wish: AddHook = request(&json!({ "url": "http://192.0.2.1/", "since": 0 }));
    let hook = kit.run(wish).expect("a hook").answer.hook.id;
    let (holder, seq) = ("planter".to_owned(), Seq::new(1));
    let kernel = kit.kernel();
    kernel
        .stand_for_hooks(holder.clone())
        .wait()
        .expect("upkeep");
    let work = kit.ask_as(Actor::System, HookWork { each: 0 });
    let office = work.expect("the office").answer.deliverer;
    let subject = ("project".to_owned(), 1);
    let taken = Taken {
        hook,
        from: Seq::ZERO,
        through: seq,
        wanted: vec![Waiting { seq, subject }],
    };
    let ended = Ended::GivenUp {
        reason: "nobody is there".to_owned(),
    };
    let tried = Tried { hook, seq, ended };
    let fence = office.expect("a holder").fence;
    move_hooks(kernel, fence, vec![taken], Vec::new());
    move_hooks(kernel, fence, Vec::new(), vec![tried]);
    kernel.resign_from_hooks(holder).wait().expect("upkeep");
    (hook, seq)
}

fn move_hooks(kernel: &Kernel, fence: i64, taken: Vec<Taken>, tried: Vec<Tried>) {
    kernel
        .move_hooks(fence, taken, tried)
        .wait()
        .expect("upkeep");
}

/// One request as the told one got it.
#[derive(Clone, Debug)]
pub struct Told {
    /// Its headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: String,
}

impl Told {
    /// Returns a header.
    pub fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }

    /// Returns the event.
    pub fn event(&self) -> Value {
        serde_json::from_str(&self.body).expect("an event")
    }

    /// Returns the event's place in the log.
    pub fn seq(&self) -> i64 {
        self.header("comity-seq").parse().expect("a number")
    }
}

/// A service on loopback that is told events.
pub struct Listener {
    addr: SocketAddr,
    heard: Heard<Told>,
}

impl Listener {
    /// Answers every request with what `answer` says of it: a status, after which it may say more.
    pub fn new(answer: impl Fn(&Told, &mut TcpStream) -> u16 + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let addr = listener.local_addr().expect("an address");
        let (hear, heard) = channel();
        let answer = std::sync::Arc::new(answer);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (hear, answer) = (hear.clone(), std::sync::Arc::clone(&answer));
                std::thread::spawn(move || {
                    let mut stream = stream.expect("a connection");
                    let Some(told) = read(&stream) else { return };
                    // Noted before it is answered: whoever is told knows.
                    let _ = hear.send(told.clone());
                    let status = answer(&told, &mut stream);
                    let _ = write!(
                        stream,
                        "HTTP/1.1 {status} Said\r\nContent-Length: 0\r\n\r\n"
                    );
                });
            }
        });
        Self { addr, heard }
    }

    /// Says 204 to everything.
    pub fn content() -> Self {
        Self::new(|_, _| 204)
    }

    /// Returns where it listens.
    pub fn url(&self) -> String {
        format!("http://{}/in", self.addr)
    }

    /// Waits for the next request.
    pub fn next(&self) -> Told {
        let told = self.heard.recv_timeout(Duration::from_secs(60));
        told.expect("somebody tells")
    }

    /// Returns what was told already.
    pub fn so_far(&self) -> Vec<Told> {
        self.heard.try_iter().collect()
    }

    /// Waits a while for a request; `None` if there was none.
    pub fn within(&self, patience: Duration) -> Option<Told> {
        match self.heard.recv_timeout(patience) {
            Ok(told) => Some(told),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
        }
    }
}

fn read(stream: &TcpStream) -> Option<Told> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut headers = Vec::new();
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        headers.push((name.to_lowercase(), value.to_owned()));
    }
    let told = Told {
        headers,
        body: String::new(),
    };
    let length = told.header("content-length").parse().ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = String::from_utf8(body).ok()?;
    Some(Told { body, ..told })
}
