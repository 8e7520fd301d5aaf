//! `GET /api/events/stream`: server-sent events.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{RawQuery, State};
use axum::http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use axum::http::{HeaderMap, Response as HttpResponse};
use axum::response::{IntoResponse as _, Response};
use comity_domain::Seq;
use comity_kernel::Error;
use comity_kernel::event::{OpenWatch, Told};
use comity_kernel::query::Query as _;
use tokio::time::Interval;

use super::ask;
use super::follower::Follower;
use crate::Server;
use crate::http::{Peer, Refusal, credential};

/// How often a silent stream says that it lives.
const ALIVE_EVERY: Duration = Duration::from_secs(15);

/// Follows the log for a client.
pub(crate) async fn stream(
    State(server): State<Server>,
    Extension(peer): Extension<Peer>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let started = Instant::now();
    let query = query.unwrap_or_default();
    let response = match open(&server, peer, &headers, &query).await {
        Ok(follower) => streaming(follower),
        Err(error) => Refusal(error.numbered(&server.ambient)).into_response(),
    };
    let (status, took) = (response.status().as_u16(), started.elapsed());
    server.metrics.answered("events_stream", status, took);
    response
}

async fn open(
    server: &Server,
    peer: Peer,
    headers: &HeaderMap,
    query: &str,
) -> Result<Follower, Error> {
    let actor = credential::admit_anybody(server, peer, headers).await?;
    actor.must_be_one_of("events", OpenWatch::WHO)?;
    let asked = ask::stream(query, headers)?;
    let since = asked.since;
    let watch = server.kernel.query(actor.clone(), asked).await?;
    let since = since.unwrap_or(watch.as_of_seq);
    Follower::new(&server.kernel, &server.feeds, actor, watch.answer, since)
}

fn streaming(follower: Follower) -> Response {
    let alive = tokio::time::Instant::now() + ALIVE_EVERY;
    let streaming = Streaming {
        follower,
        greeted: false,
        alive: tokio::time::interval_at(alive, ALIVE_EVERY),
    };
    let parts = futures_util::stream::unfold(streaming, Streaming::next);
    let mut response = HttpResponse::new(Body::from_stream(parts));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    // A proxy that collects would hold events back.
    let buffering = HeaderName::from_static("x-accel-buffering");
    headers.insert(buffering, HeaderValue::from_static("no"));
    response
}

struct Streaming {
    follower: Follower,
    /// Whether the client has been told where it is, which comes before everything.
    greeted: bool,
    alive: Interval,
}

impl Streaming {
    /// Makes the next part of the body; the body ends when the feed does.
    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        if !std::mem::replace(&mut self.greeted, true) {
            let part = alive(self.follower.through());
            return Some((Ok(part.into()), self));
        }
        let part = tokio::select! {
            biased;
            _ = self.alive.tick() => alive(self.follower.through()),
            told = self.follower.next() => match told {
                Ok(told) => events(&told),
                Err(end) => {
                    tracing::debug!(?end, "a stream ends");
                    return None;
                }
            },
        };
        Some((Ok(part.into()), self))
    }
}

/// Says that the stream lives, and up to where everything was told.
fn alive(through: Seq) -> String {
    format!(": alive\nid: {through}\n\n")
}

fn events(told: &[Told]) -> String {
    let mut text = String::new();
    for Told { seq, kind, json } in told {
        // Writing to a string cannot fail.
        let _ = write!(text, "id: {seq}\nevent: {kind}\ndata: {json}\n\n");
    }
    text
}
