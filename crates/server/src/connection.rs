//! How callers get in: accepting, bounding and ending connections.

use std::future::Future;
use std::io;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use comity_kernel::Error;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::Sleep;

use crate::Patience;
use crate::health::open_descriptors;
use crate::http::Peer;
use crate::metrics::{Metrics, Open};

/// How long open requests may take to end after a stop (B8).
const DRAIN: Duration = Duration::from_secs(2);
/// Bytes of the head of a request.
const HEAD_BYTES_MAX: usize = 64 * 1_024;
/// Header lines of a request.
const HEADERS_MAX: usize = 64;
/// Descriptors that stay free beside connections; where there are few, a tenth of them (D10).
const DESCRIPTORS_FREE_MIN: u64 = 100;
/// Callers that may wait to be let in; one more would knock again only after a second.
const KNOCKING_MAX: i32 = 4_096;
/// How long accepting rests when there are no descriptors left (D10).
const REST: Duration = Duration::from_millis(50);

/// A connection's place inside; whoever goes on with the connection keeps it.
#[derive(Clone)]
pub(crate) struct Place(
    #[expect(dead_code, reason = "it counts until it is dropped")]
    Arc<(OwnedSemaphorePermit, Open)>,
);

/// The doors of a server and everybody inside.
pub(crate) struct Doors {
    routes: Router,
    /// What a caller is told whom there is no room for.
    full: String,
    room: Arc<Semaphore>,
    patience: Patience,
    metrics: Arc<Metrics>,
    /// Turns when the doors close; whoever is inside watches it.
    closing: watch::Sender<()>,
}

impl Doors {
    pub(crate) fn new(
        routes: Router,
        connections_max: usize,
        patience: Patience,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self {
            routes,
            full: full(),
            room: Arc::new(Semaphore::new(connections_max)),
            patience,
            metrics,
            closing: watch::Sender::new(()),
        }
    }

    /// Lets callers in until `stop`, then waits a little for those inside.
    pub(crate) async fn keep_open(
        self,
        listener: TcpListener,
        socket: Option<UnixListener>,
        stop: impl Future<Output = ()>,
    ) {
        let mut stop = std::pin::pin!(stop);
        make_room_to_wait(&listener);
        if let Some(socket) = &socket {
            make_room_to_wait(socket);
        }
        loop {
            let admitted = tokio::select! {
                () = &mut stop => break,
                accepted = listener.accept() => accepted.map(|(stream, from)| self.admit_tcp(stream, Peer::Address(from.ip()))),
                accepted = accept(socket.as_ref()) => accepted.map(|stream| self.admit_unix(stream)),
            };
            if let Err(error) = admitted {
                if is_about_one_connection(&error) {
                    continue;
                }
                // Out of descriptors or memory: those inside go on, newcomers wait in the queue of
                // the operating system.
                tracing::warn!(error = %error, "no connection can be accepted at the moment");
                tokio::time::sleep(REST).await;
            }
        }
        drop(listener);
        drop(socket);
        self.closing.send_replace(());
        if tokio::time::timeout(DRAIN, self.closing.closed())
            .await
            .is_err()
        {
            tracing::warn!("some requests did not end in time");
        }
    }

    fn admit_tcp(&self, stream: TcpStream, peer: Peer) {
        // Answers are written at once; waiting for more to send would only delay them.
        let _ = stream.set_nodelay(true);
        if let Some(place) = self.place() {
            return self.attend(stream, peer, place);
        }
        // A caller that does not even take this much is dropped without.
        let _ = stream.try_write(self.full.as_bytes());
    }

    fn admit_unix(&self, stream: UnixStream) {
        if let Some(place) = self.place() {
            return self.attend(stream, Peer::Socket, place);
        }
        let _ = stream.try_write(self.full.as_bytes());
    }

    /// Takes a place inside, if there is one.
    fn place(&self) -> Option<OwnedSemaphorePermit> {
        let place = Arc::clone(&self.room).try_acquire_owned().ok();
        if place.is_none() {
            self.metrics.turned_away();
        }
        place
    }

    fn attend<S>(&self, stream: S, peer: Peer, place: OwnedSemaphorePermit)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let place = Place(Arc::new((place, self.metrics.connection_opened())));
        // A layer of its own for each connection would copy every route for it.
        let routes = TowerToHyperService::new(self.routes.clone());
        let held = place.clone();
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(peer);
            request.extensions_mut().insert(held.clone());
            routes.call(request)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.patience.head)
            .max_buf_size(HEAD_BYTES_MAX)
            .max_headers(HEADERS_MAX)
            .serve_connection(
                TokioIo::new(Unstuck::new(stream, self.patience.stuck)),
                service,
            )
            .with_upgrades();
        let mut closing = self.closing.subscribe();
        tokio::spawn(async move {
            let mut connection = std::pin::pin!(connection);
            let ended = tokio::select! {
                ended = connection.as_mut() => ended,
                _ = closing.changed() => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            // A client that went away or spoke no HTTP is not our failure.
            if let Err(error) = ended {
                tracing::debug!(error = %error, "a connection ended");
            }
            drop(place);
        });
    }
}

/// Writes the whole answer to a caller whom there is no room for.
fn full() -> String {
    let error = Error::Busy {
        reason: "too many connections are open".to_owned(),
    };
    let body = error.to_json().to_string();
    format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\n\
         retry-after: 1\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Asks for as many descriptors as this process may have, and returns how many connections fit.
pub(crate) fn within_descriptors(connections_max: usize) -> usize {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::debug!(error = %error, "the limit of descriptors stays as it is");
    }
    let Some(descriptors) = getrlimit(Resource::Nofile).current else {
        return connections_max;
    };
    let in_use = open_descriptors().unwrap_or_default();
    let free = DESCRIPTORS_FREE_MIN.min(descriptors / 10);
    let rest = descriptors.saturating_sub(in_use + free);
    connections_max
        .min(usize::try_from(rest).unwrap_or(usize::MAX))
        .max(1)
}

/// Lets a whole fleet wait at a door that was opened for 128, as the library does.
fn make_room_to_wait(door: impl AsFd) {
    if let Err(error) = rustix::net::listen(door, KNOCKING_MAX) {
        tracing::debug!(error = %error, "the queue at the door stays as it is");
    }
}

/// Waits for a caller at the socket, for ever where there is none.
async fn accept(socket: Option<&UnixListener>) -> io::Result<UnixStream> {
    match socket {
        Some(socket) => socket.accept().await.map(|(stream, _)| stream),
        None => std::future::pending().await,
    }
}

/// Tells whether accepting failed because of the caller alone.
fn is_about_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted
    )
}

/// A stream that ends when its reader takes nothing for too long.
struct Unstuck<S> {
    stream: S,
    patience: Duration,
    since: Option<Pin<Box<Sleep>>>,
}

impl<S> Unstuck<S> {
    const fn new(stream: S, patience: Duration) -> Self {
        Self {
            stream,
            patience,
            since: None,
        }
    }

    fn judge<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.since = None;
            return written;
        }
        let patience = self.patience;
        let since = self
            .since
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        match since.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Unstuck<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Unstuck<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.judge(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.judge(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.judge(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
