//! A real server around a kit's kernel, and a client that sends exactly the bytes it is told to.

mod child;
mod client;

use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

use comity_kernel::datadir::DataDir;
use comity_server::{Patience, Server, Settings, socket};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

pub use child::{Child, allow_descriptors};
pub use client::{Answer, Call, read_answer};

use crate::{Engine, Kit};

/// How long a client of a test waits for anything.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A server on a free port and on a Unix socket; dropping it stops it, then examines the database.
pub struct Served {
    addr: SocketAddr,
    socket: PathBuf,
    stop: Option<oneshot::Sender<()>>,
    running: Option<JoinHandle<()>>,
    /// What it serves. Behind the thread's handle, so that it outlives the server.
    pub kit: Kit,
}

impl Served {
    /// Serves a new kit with everything as usual.
    pub fn new(engine: Engine) -> Self {
        Self::with(engine, |_, _| {})
    }

    /// Serves a new kit with some settings changed.
    pub fn with(engine: Engine, change: impl FnOnce(&mut Settings, &mut Patience)) -> Self {
        Self::around(Kit::new(engine), change)
    }

    /// Serves a kit.
    pub fn around(kit: Kit, change: impl FnOnce(&mut Settings, &mut Patience)) -> Self {
        let (mut settings, mut patience) = (Settings::default(), Patience::default());
        change(&mut settings, &mut patience);
        let data = DataDir::open(&kit.directory().join("data")).expect("a data directory");
        let server = Server::new(kit.share(), settings)
            .with_patience(patience)
            .with_failpoints(kit.failpoints.clone());
        let (stop, stopped) = oneshot::channel();
        let (opened, doors) = std::sync::mpsc::channel();
        let running = std::thread::spawn(move || {
            // One thread, as `comity serve` has.
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
                let at_socket = socket::bind(&data).expect("a socket");
                let addr = listener.local_addr().expect("an address");
                opened
                    .send((addr, socket::locate(&data)))
                    .expect("somebody waits");
                let ended = async {
                    // Whoever forgets to stop it has dropped it.
                    let _ = stopped.await;
                };
                let done = server.serve(listener, Some(at_socket), ended).await;
                done.expect("it serves until it is stopped");
                socket::remove(&data);
            });
            runtime.shutdown_timeout(Duration::from_millis(100));
        });
        let (addr, socket) = doors.recv().expect("the server starts");
        Self {
            addr,
            socket,
            stop: Some(stop),
            running: Some(running),
            kit,
        }
    }

    /// Returns where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Returns the path of its socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Opens a connection.
    pub fn connect(&self) -> TcpStream {
        connect(self.addr)
    }

    /// Opens a connection to the socket.
    pub fn connect_unix(&self) -> UnixStream {
        let stream = UnixStream::connect(&self.socket).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream
    }

    /// Makes a call over a connection of its own.
    pub fn call(&self, call: &Call) -> Answer {
        let bytes = call.bytes(&self.addr.to_string());
        call.exchange(&mut self.connect(), &bytes)
    }

    /// Makes a call over the socket: without a token, as the operator.
    pub fn call_unix(&self, call: &Call) -> Answer {
        let bytes = call.bytes("localhost");
        call.exchange(&mut self.connect_unix(), &bytes)
    }

    /// Sends bytes over a connection of their own, and reads one answer.
    ///
    /// `None` if the server closed without one. That it takes not all of the bytes is no failure:
    /// it may have answered already.
    pub fn raw(&self, bytes: &[u8]) -> Option<Answer> {
        client::raw(&mut self.connect(), bytes)
    }

    /// Reads with a token.
    pub fn get(&self, path: &str, token: &str) -> Answer {
        self.call(&Call::get(path).token(token))
    }

    /// Writes with a token.
    pub fn post(&self, path: &str, token: &str, body: &Value) -> Answer {
        self.call(&Call::post(path, body).token(token))
    }

    /// Asks the server to stop, without waiting for it.
    pub fn begin_to_stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // It may have ended by itself.
            let _ = stop.send(());
        }
    }

    /// Waits until the server has ended.
    pub fn stop(&mut self) {
        self.begin_to_stop();
        if let Some(running) = self.running.take() {
            let ended = running.join();
            assert!(
                ended.is_ok() || std::thread::panicking(),
                "the server panicked"
            );
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Opens a connection that waits for nothing longer than [`PATIENCE`].
pub fn connect(addr: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(addr).expect("a connection");
    stream.set_nodelay(true).expect("no delay");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream.set_write_timeout(Some(PATIENCE)).expect("a timeout");
    stream
}
