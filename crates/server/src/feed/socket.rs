//! `GET /ws/agents/{id}`: what an agent sees, over a WebSocket.

use std::error::Error as _;
use std::time::{Duration, Instant};

use axum::Extension;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Path, RawQuery, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use comity_domain::Seq;
use comity_domain::limits::FRAME_BYTES_MAX;
use comity_kernel::agent::{AgentRef, Heartbeat};
use comity_kernel::event::{OpenAgentWatch, Told};
use comity_kernel::query::Query as _;
use comity_kernel::{Actor, Error};
use futures_util::SinkExt as _;
use tungstenite::error::{CapacityError, Error as SocketError};

use super::follower::Follower;
use super::frame::{self, Said};
use super::{ask, hub::End};
use crate::Server;
use crate::connection::Place;
use crate::http::{Peer, Refusal, credential};

/// Bytes that are read at a time; each open socket has as many.
const READ_BYTES: usize = 4 * 1_024;
/// Bytes that are collected before they are written.
const WRITE_BYTES: usize = 16 * 1_024;
/// Bytes that wait to be written: the largest event and more (fault 15).
const WRITE_BYTES_MAX: usize = 4 * 1_024 * 1_024;
/// How often an open socket counts as a sign of life.
const ALIVE_EVERY: Duration = Duration::from_secs(20);
/// How long a client may take to hear that it is over.
const FAREWELL: Duration = Duration::from_secs(1);
/// The same for one that is far behind, which has more to take before.
const FAREWELL_OF_THE_SLOW: Duration = Duration::from_secs(10);

/// Follows the log for an agent, or for the operator what an agent sees.
pub(crate) async fn open(
    State(server): State<Server>,
    Extension(peer): Extension<Peer>,
    Extension(place): Extension<Place>,
    Path(agent): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    let started = Instant::now();
    let query = query.unwrap_or_default();
    let admitted = admit(&server, peer, &headers, &agent, &query).await;
    let upgraded = admitted.and_then(|admitted| match upgrade {
        Ok(upgrade) => Ok((admitted, upgrade)),
        Err(_) => Err(Error::invalid("Upgrade", "must be that of a WebSocket")),
    });
    let response = match upgraded {
        Ok(((actor, follower), upgrade)) => {
            let server = server.clone();
            let upgrade = upgrade
                .max_message_size(FRAME_BYTES_MAX)
                .max_frame_size(FRAME_BYTES_MAX)
                .read_buffer_size(READ_BYTES)
                .write_buffer_size(WRITE_BYTES)
                .max_write_buffer_size(WRITE_BYTES_MAX);
            upgrade.on_upgrade(move |socket| async move {
                let line = Line {
                    told: follower.through(),
                    server,
                    actor,
                    follower,
                    socket,
                };
                line.attend().await;
                drop(place);
            })
        }
        Err(error) => Refusal(error.numbered(&server.ambient)).into_response(),
    };
    let (status, took) = (response.status().as_u16(), started.elapsed());
    server.metrics.answered("events_socket", status, took);
    response
}

async fn admit(
    server: &Server,
    peer: Peer,
    headers: &HeaderMap,
    agent: &str,
    query: &str,
) -> Result<(Actor, Follower), Error> {
    let actor = credential::admit_anybody(server, peer, headers).await?;
    actor.must_be_one_of("events", OpenAgentWatch::WHO)?;
    let named = serde_json::Value::from(agent);
    let agent: AgentRef = serde_json::from_value(named)
        .map_err(|_| Error::invalid("agent", "must be an agent's name or its number"))?;
    let project = ask::project_only(query)?;
    let watch = OpenAgentWatch { agent, project };
    let watch = server.kernel.query(actor.clone(), watch).await?;
    let follower = Follower::new(
        &server.kernel,
        &server.feeds,
        actor.clone(),
        watch.answer,
        watch.as_of_seq,
    )?;
    Ok((actor, follower))
}

/// An open socket.
struct Line {
    server: Server,
    actor: Actor,
    follower: Follower,
    socket: WebSocket,
    /// The last event that was handed to the socket; the client has it before it hears of the end.
    told: Seq,
}

/// What made an open socket end.
enum Ended {
    Feed(End),
    Client(CloseFrame),
}

impl From<End> for Ended {
    fn from(end: End) -> Self {
        Self::Feed(end)
    }
}

impl Line {
    async fn attend(mut self) {
        let ended = self.talk().await;
        let patience = match &ended {
            Ended::Feed(End::Slow | End::Pruned(_)) => FAREWELL_OF_THE_SLOW,
            Ended::Feed(_) | Ended::Client(_) => FAREWELL,
        };
        let last = match ended {
            Ended::Feed(End::Gone) => return,
            Ended::Feed(end) => frame::farewell(&end, self.told),
            Ended::Client(close) => close,
        };
        // Nothing more is read for it meanwhile.
        let Self {
            mut socket,
            follower,
            ..
        } = self;
        let farewell = async {
            let _ = socket.send(Message::Close(Some(last))).await;
            // What the client still says must not cut off what it still hears.
            while let Some(Ok(_)) = socket.recv().await {}
        };
        let _ = tokio::time::timeout(patience, farewell).await;
        drop(follower);
    }

    /// Tells what comes and listens, until one of the two ends.
    async fn talk(&mut self) -> Ended {
        let mut alive = tokio::time::interval(ALIVE_EVERY);
        if let Err(end) = self.hand_over(frame::hello(self.follower.through())).await {
            return end.into();
        }
        loop {
            let done = tokio::select! {
                told = self.follower.next() => match told {
                    Ok(told) => self.tell(&told).await.map_err(Ended::from),
                    Err(end) => Err(end.into()),
                },
                said = self.socket.recv() => self.listen(said).await,
                _ = alive.tick() => self.show_life().await.map_err(Ended::from),
            };
            if let Err(ended) = done {
                return ended;
            }
        }
    }

    async fn tell(&mut self, told: &[Told]) -> Result<(), End> {
        let patience = self.server.patience.feed;
        for one in told {
            let feed = self.socket.feed(frame::event(one));
            self.follower.within(patience, feed).await?;
            self.told = one.seq;
        }
        self.follower.within(patience, self.socket.flush()).await
    }

    async fn hand_over(&mut self, message: Message) -> Result<(), End> {
        let patience = self.server.patience.feed;
        let send = self.socket.send(message);
        self.follower.within(patience, send).await
    }

    async fn listen(&mut self, said: Option<Result<Message, axum::Error>>) -> Result<(), Ended> {
        let broken = |rule: &str| Err(Ended::Client(frame::close(frame::POLICY, rule)));
        let text = match said {
            Some(Ok(Message::Text(text))) => text,
            // The library answers both.
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => return Ok(()),
            Some(Ok(Message::Binary(_))) => return broken("text alone is understood"),
            Some(Ok(Message::Close(_))) | None => return Err(End::Gone.into()),
            Some(Err(error)) => return Err(misspoken(&error)),
        };
        match Said::read(&text) {
            Some(Said::Ping {}) => Ok(self.hand_over(frame::pong()).await?),
            Some(Said::Subscribe { since }) => {
                if credential::within_rate(&self.server, self.actor.clone()).is_err() {
                    return broken("too many requests");
                }
                self.follower.restart(since);
                self.told = since;
                Ok(self.hand_over(frame::subscribed(since)).await?)
            }
            None => broken("`subscribe` with `since`, and `ping`, are understood"),
        }
    }

    /// Counts as a sign of life of the agent; its credential is looked at by the way.
    async fn show_life(&mut self) -> Result<(), End> {
        if !matches!(self.actor, Actor::Agent { .. }) {
            return Ok(());
        }
        let heartbeat = self
            .server
            .kernel
            .query(self.actor.clone(), Heartbeat::default());
        match heartbeat.await {
            Err(Error::Unauthorized) => Err(End::Revoked),
            // A busy database is no reason to end; the next time will do.
            _ => Ok(()),
        }
    }
}

/// Tells a client that sent too much from one that is gone or does not speak the protocol.
fn misspoken(error: &axum::Error) -> Ended {
    let cause = error.source().and_then(|cause| cause.downcast_ref());
    match cause {
        Some(SocketError::Capacity(CapacityError::MessageTooLong { .. })) => {
            let rule = format!("a frame has at most {FRAME_BYTES_MAX} bytes");
            Ended::Client(frame::close(frame::TOO_LARGE, &rule))
        }
        Some(SocketError::Protocol(_) | SocketError::Utf8(_)) => {
            Ended::Client(frame::close(frame::PROTOCOL, "not understood"))
        }
        _ => Ended::Feed(End::Gone),
    }
}
