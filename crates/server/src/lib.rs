//! What stands around a running kernel: HTTP, MCP, and the background work of a server.
//!
//! There is no SQL here. `http` is the route table on one page, `connection` how callers get in,
//! `socket` the door for this machine's owner, `feed` what is told live, `health` the live probe,
//! `upkeep` what a server does every few seconds, `archiving` how the log gets into Git, `hooks` how
//! others are told of it, `outbound` how requests leave the server, `embedder` who makes vectors of
//! texts.

pub mod archiving;
mod connection;
pub mod embedder;
mod feed;
pub mod health;
pub mod hooks;
pub mod http;
mod known;
pub mod mcp;
mod metrics;
pub mod outbound;
mod rate;
pub mod socket;
pub mod upkeep;

use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use comity_domain::limits::{ANSWER_TIME_MAX_S, REQUEST_TIME_MAX_S, WAIT_US_MAX};
use comity_kernel::actor::Credential;
use comity_kernel::ambient::Ambient;
use comity_kernel::datadir::DataDir;
use comity_kernel::failpoint::Failpoints;
use comity_kernel::operation::{Operation, Outcome, Pace};
use comity_kernel::{Caller, Error, Kernel};
use serde_json::Value;
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{Semaphore, SemaphorePermit, watch};

use crate::archiving::{Archive, Archiving};
use crate::embedder::follow::Trouble;
use crate::feed::Hub;
use crate::hooks::{Hooking, Telling};
use crate::known::Known;
use crate::metrics::Metrics;
use crate::rate::Rates;

/// Bad credentials one address may present in a second, and at once.
const STRANGERS_PER_SECOND: u32 = 5;
const STRANGERS_BURST: u32 = 100;

/// How long feeds may take to say where they stopped, once the doors are closed (B8).
const FEEDS_END: Duration = Duration::from_millis(500);

/// What an operator may set.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Names by which the server may be called beside its address, as `host` or `host:port`.
    pub allowed_hosts: Vec<String>,
    /// Requests of one agent or observer in a second, in the long run.
    pub requests_per_second: u32,
    /// Requests of one agent or observer at once.
    pub requests_burst: u32,
    /// Requests that the kernel works on or that wait for it; more are told `busy` at once (B6).
    pub requests_at_once: usize,
    /// Connections at the same time.
    pub connections_max: usize,
    /// Where tokens are kept that are made through MCP.
    pub data: Option<DataDir>,
    /// How the archive is written; without it there is none.
    pub archive: Option<Archiving>,
    /// How hooks are told.
    pub hooks: Hooking,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            allowed_hosts: Vec::new(),
            requests_per_second: 1_000,
            requests_burst: 2_000,
            requests_at_once: 512,
            connections_max: 4_096,
            data: None,
            archive: None,
            hooks: Hooking::default(),
        }
    }
}

/// How long callers may take. Nobody has a reason to set it but tests, which are less patient.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// The head of a request, from the first moment of waiting for it (S1).
    pub head: Duration,
    /// The body of a request (S1).
    pub body: Duration,
    /// A client that takes nothing of its answer.
    pub stuck: Duration,
    /// A client that follows the log over a WebSocket and does not take the next event.
    pub feed: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            head: Duration::from_secs(10),
            body: Duration::from_secs(REQUEST_TIME_MAX_S),
            stuck: Duration::from_secs(30),
            feed: Duration::from_secs(10),
        }
    }
}

/// What every handler can reach.
#[derive(Clone)]
pub struct Server {
    /// The kernel.
    pub kernel: Arc<Kernel>,
    settings: Arc<Settings>,
    patience: Patience,
    metrics: Arc<Metrics>,
    known: Arc<Known>,
    feeds: Arc<Hub>,
    /// The places of those whom the kernel attends to.
    turns: Arc<Semaphore>,
    rates: Arc<Rates<Credential>>,
    strangers: Arc<Rates<Option<IpAddr>>>,
    ambient: Ambient,
    archive: Arc<Archive>,
    /// Why vectors are not made at the moment.
    embedding: Trouble,
    /// The turn of whoever probes: a crowd of askers must not become a crowd of writes.
    probing: Arc<tokio::sync::Mutex<()>>,
}

impl Server {
    /// Stands a server around a kernel.
    pub fn new(kernel: Arc<Kernel>, settings: Settings) -> Self {
        let rates = Rates::new(settings.requests_per_second, settings.requests_burst);
        let ambient = Ambient::system();
        let archive = Archive::open(&kernel, settings.archive.as_ref(), &ambient);
        Self {
            kernel,
            archive: Arc::new(archive),
            turns: Arc::new(Semaphore::new(settings.requests_at_once)),
            settings: Arc::new(settings),
            patience: Patience::default(),
            metrics: Arc::default(),
            known: Arc::default(),
            feeds: Arc::default(),
            rates: Arc::new(rates),
            strangers: Arc::new(Rates::new(STRANGERS_PER_SECOND, STRANGERS_BURST)),
            ambient,
            embedding: Trouble::default(),
            probing: Arc::default(),
        }
    }

    /// Waits for callers as long as it is told, not as long as usual.
    #[must_use]
    pub fn with_patience(mut self, patience: Patience) -> Self {
        self.patience = patience;
        self
    }

    /// Stops, fails or dies where a test wants it to.
    #[must_use]
    pub fn with_failpoints(mut self, failpoints: Failpoints) -> Self {
        self.ambient.failpoints = failpoints;
        self
    }

    /// Takes a place among those whom the kernel attends to, or says that there is none (B6).
    fn turn(&self) -> Result<SemaphorePermit<'_>, Error> {
        self.turns.try_acquire().map_err(|_| Error::Busy {
            reason: "too many requests wait".to_owned(),
        })
    }

    /// Has the kernel answer, but does not wait for ever: a write that is given up may still take
    /// effect.
    async fn answer(
        &self,
        operation: &'static Operation,
        caller: Caller,
        request: Value,
    ) -> Result<Outcome, Error> {
        let turn = self.turn()?;
        let call = (operation.call)(&self.kernel, caller, request);
        let longest = Duration::from_secs(ANSWER_TIME_MAX_S);
        let longest = match operation.pace {
            Pace::Quick => longest,
            Pace::Long => return call.await,
            Pace::Waits => {
                // Whoever only waits takes nobody's place.
                drop(turn);
                longest + Duration::from_micros(WAIT_US_MAX.unsigned_abs())
            }
        };
        match tokio::time::timeout(longest, call).await {
            Ok(answered) => answered,
            Err(_) if operation.effect.writes() => Err(Error::Indeterminate),
            Err(_) => Err(Error::Busy {
                reason: "the database took too long".to_owned(),
            }),
        }
    }

    /// Serves until `stop` is there or the kernel gives up, and ends what is open.
    pub async fn serve(
        self,
        listener: TcpListener,
        socket: Option<UnixListener>,
        stop: impl Future<Output = ()> + Send,
    ) -> std::io::Result<()> {
        let hosts = http::Hosts::new(listener.local_addr()?, &self.settings.allowed_hosts);
        let mut gave_up = self.kernel.gave_up();
        let upkeep = tokio::spawn(upkeep::run(Arc::clone(&self.kernel)));
        let (kernel, feeds) = (Arc::clone(&self.kernel), Arc::clone(&self.feeds));
        let failpoints = self.ambient.failpoints.clone();
        let tail = feed::tail(Arc::clone(&kernel), Arc::clone(&feeds), failpoints);
        let tail = tokio::spawn(tail);
        let (stop_following, stopped) = watch::channel(false);
        let archiving = tokio::spawn(self.archive.follow(kernel.head(), stopped.clone()));
        let telling = Telling::new(
            Arc::clone(&kernel),
            self.ambient.clone(),
            self.settings.hooks,
        );
        let telling = tokio::spawn(telling.run(stopped));
        let embedding = embedder::follow::run(Arc::clone(&kernel), self.embedding.clone());
        let embedding = tokio::spawn(embedding);
        let connections_max = connection::within_descriptors(self.settings.connections_max);
        let (metrics, patience) = (Arc::clone(&self.metrics), self.patience);
        let routes = http::routes(self, hosts);
        let doors = connection::Doors::new(routes, connections_max, patience, metrics);
        let ends = async {
            tokio::select! {
                () = stop => {}
                _ = gave_up.wait_for(Option::is_some) => {}
            }
            kernel.end_waits();
            feeds.end();
            stop_following.send_replace(true);
        };
        doors.keep_open(listener, socket, ends).await;
        // They were told to end when the doors closed; what is left takes no answer.
        let _ = tokio::time::timeout(FEEDS_END, feeds.ended()).await;
        // It has had its second since the doors began to close.
        let _ = archiving.await;
        let _ = telling.await;
        embedding.abort();
        tail.abort();
        upkeep.abort();
        Ok(())
    }
}
