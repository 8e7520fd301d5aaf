//! The server as a process: how fast it answers first, and what it holds when idle.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use comity_kernel::agent::RegisterAgent;
use comity_kernel::datadir::DataDir;
use comity_kernel::{Kernel, Options};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::Wanted;
use crate::base::{self, named, some_agent};
use crate::load::run_all;
use crate::pairs::Series;
use crate::row::{Row, Target};

/// How large the database is made.
const BYTES: u64 = 1_000_000_000;
/// How long making it may take; then it stays as small as it is.
const MAKING_MAX: Duration = Duration::from_mins(2);
/// Bytes that each agent keeps about itself; it is in the log and in the table.
const METADATA_BYTES: usize = 4_000;
/// Agents registered between two looks at the size.
const STRETCH: usize = 4_000;
/// How long a started server may take to answer, to come to rest, and to end.
const PATIENCE: Duration = Duration::from_mins(1);

/// Starts the server on a large database a few times.
pub(crate) fn start_and_memory(wanted: &Wanted) -> Vec<Row> {
    let directory = TempDir::new_in(&wanted.directory).expect("a directory");
    let data = directory.path().join("data");
    let bytes = make_large(&data);
    // The first start makes the operator's token; the others are like any other day's.
    Server::start(&wanted.comity, &data).stop();
    let mut resident = Vec::new();
    let started = Series::measure(|| {
        let server = Server::start(&wanted.comity, &data);
        server.wait_until_idle();
        resident.push(server.resident_mb());
        server.stop()
    });
    #[expect(clippy::cast_precision_loss, reason = "sizes are far below 2^52")]
    let size = format!("SQLite, {:.2} GB in the page cache", bytes as f64 / 1e9);
    let note = format!("from the start of the process to the answer of /health; {size}");
    let (ms, mb) = (Target::AtMost(100.0), Target::AtMost(40.0));
    let idle = format!("resident when idle; {size}");
    vec![
        Row::absolute("start", "ms", &started, ms, note),
        Row::absolute("memory", "MB", &resident.into_iter().collect(), mb, idle),
    ]
}

/// Fills a data directory through the kernel; returns how large the database became.
fn make_large(data: &Path) -> u64 {
    let path = DataDir::open(data).expect("a data directory").database();
    let callers = base::make(Options::sqlite(&path));
    let kernel = Arc::new(Kernel::open(Options::sqlite(&path)).expect("the kernel opens"));
    let agent = RegisterAgent {
        metadata: Some([("notes".to_owned(), "n".repeat(METADATA_BYTES).into())].into()),
        ..some_agent()
    };
    let size = || std::fs::metadata(&path).map_or(0, |file| file.len());
    let started = Instant::now();
    let mut first = 0;
    while size() < BYTES && started.elapsed() < MAKING_MAX {
        let stretch = first..first + STRETCH;
        let stretch = stretch.map(|nth| named(&agent, nth)).collect();
        run_all(&kernel, &callers, stretch);
        first += STRETCH;
    }
    drop(kernel);
    size()
}

/// A running server.
pub(crate) struct Server {
    child: Child,
    addr: SocketAddr,
    /// From before the process was made until its first answer was read.
    answered_after: Duration,
}

impl Server {
    /// Starts it and waits for its first answer.
    pub(crate) fn start(comity: &Path, data: &Path) -> Self {
        let started = Instant::now();
        let mut child = Command::new(comity)
            .arg("--data")
            .arg(data)
            .args(["serve", "--addr", "127.0.0.1:0", "--json"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let stdout = child.stdout.take().expect("its output is a pipe");
        let mut line = String::new();
        let read = BufReader::new(stdout).read_line(&mut line);
        read.expect("it says where it listens");
        let said: Value = serde_json::from_str(&line).expect("it says it in JSON");
        let addr = said["addr"].as_str().expect("it listens");
        ask_health(addr);
        Self {
            child,
            addr: addr.parse().expect("an address"),
            answered_after: started.elapsed(),
        }
    }

    /// Returns where it listens.
    pub(crate) fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Waits until it has not used the processor for a while: its own check is over then.
    pub(crate) fn wait_until_idle(&self) {
        let started = Instant::now();
        let mut used = self.ticks();
        loop {
            std::thread::sleep(Duration::from_millis(500));
            let now = self.ticks();
            if now == used {
                return;
            }
            used = now;
            assert!(
                started.elapsed() < PATIENCE,
                "the server does not come to rest"
            );
        }
    }

    /// Returns the processor time it has used, in ticks.
    fn ticks(&self) -> u64 {
        let stat = self.proc("stat");
        // The name is in parentheses; user and system time are the 12th and 13th field behind it.
        let (_, fields) = stat.rsplit_once(')').expect("a name");
        let mut fields = fields.split_whitespace().skip(11);
        let mut next = || fields.next().and_then(|field| field.parse::<u64>().ok());
        next()
            .zip(next())
            .map(|(user, system)| user + system)
            .expect("two times")
    }

    pub(crate) fn resident_mb(&self) -> f64 {
        let status = self.proc("status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().next());
        let kib: f64 = kib.and_then(|kib| kib.parse().ok()).expect("a size");
        kib * 1024.0 / 1e6
    }

    fn proc(&self, name: &str) -> String {
        std::fs::read_to_string(format!("/proc/{}/{name}", self.child.id())).expect("it runs")
    }

    /// Ends it; returns how many milliseconds its first answer took.
    pub(crate) fn stop(mut self) -> f64 {
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(id.expect("a process id"), Signal::TERM).expect("it can be signalled");
        self.child.wait().expect("it ends");
        self.answered_after.as_secs_f64() * 1e3
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Only when a measurement panicked is it still there.
        let _ = self.child.kill();
    }
}

fn ask_health(addr: &str) {
    let mut stream = TcpStream::connect(addr).expect("the server takes connections");
    stream
        .set_read_timeout(Some(PATIENCE))
        .expect("a time limit is set");
    let request = format!("GET /health HTTP/1.1\r\nhost: {addr}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it listens");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}
