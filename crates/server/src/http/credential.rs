//! Who calls: what the credential says, and how often it may.

use std::time::Instant;

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use comity_kernel::{Actor, Error};

use super::Peer;
use crate::Server;

/// Tells who calls. The socket alone is the operator's credential; a token there counts as anywhere.
pub(crate) async fn identify(
    server: &Server,
    peer: Peer,
    headers: &HeaderMap,
) -> Result<Actor, Error> {
    let actor = match (presented(headers)?, peer) {
        (Some(token), _) => authenticate(server, peer, token).await?,
        (None, Peer::Socket) => Actor::OPERATOR,
        (None, Peer::Address(_)) => return Err(Error::Unauthorized),
    };
    if matches!(actor, Actor::Operator { .. }) {
        return Ok(actor);
    }
    match server.rates.take(actor.credential(), Instant::now()) {
        Ok(()) => Ok(actor),
        Err(wait) => Err(too_often(actor.to_string(), wait)),
    }
}

/// Looks a token up. Only failures are counted, so nobody is locked out by others' guesses (S19).
async fn authenticate(server: &Server, peer: Peer, token: &str) -> Result<Actor, Error> {
    let refused = match server.kernel.authenticate(token).await {
        Ok(found) => return Ok(found.answer),
        Err(Error::Unauthorized) => Error::Unauthorized,
        Err(error) => return Err(error),
    };
    let from = match peer {
        Peer::Address(address) => Some(address),
        Peer::Socket => None,
    };
    match server.strangers.take(from, Instant::now()) {
        Ok(()) => Err(refused),
        Err(wait) => Err(too_often("this address".to_owned(), wait)),
    }
}

fn too_often(who: String, wait: std::time::Duration) -> Error {
    Error::RateLimited {
        who,
        retry_after_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1),
    }
}

/// Takes the token out of the one place where it may be.
fn presented(headers: &HeaderMap) -> Result<Option<&str>, Error> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = match (values.next(), values.next()) {
        (None, _) => return Ok(None),
        (Some(value), None) => value.to_str().unwrap_or_default(),
        (Some(_), Some(_)) => return Err(Error::Unauthorized),
    };
    match value.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Ok(Some(token.trim())),
        _ => Err(Error::Unauthorized),
    }
}
