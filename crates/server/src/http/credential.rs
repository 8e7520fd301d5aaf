//! Who calls: what the credential says, and how often it may.

use std::time::{Duration, Instant};

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use comity_domain::TokenSecret;
use comity_kernel::operation::{Operation, Pace};
use comity_kernel::{Actor, Error};

use super::Peer;
use crate::Server;

/// Tells who calls, and refuses whoever may not call at all or not so often.
///
/// The socket alone is the operator's credential; a token there counts as anywhere. The kernel
/// looks at the token once more in the transaction that answers a quick operation.
pub(crate) async fn admit(
    server: &Server,
    peer: Peer,
    headers: &HeaderMap,
    operation: &Operation,
) -> Result<Actor, Error> {
    let may = |actor: &Actor| actor.must_be_one_of(operation.name, operation.who);
    let secret = presented(headers).ok().flatten();
    let known = secret.and_then(|secret| server.known.get(&secret));
    let actor = match (known, operation.pace) {
        // Rights may have grown since: whoever seems to lack one is looked up again.
        (Some(actor), Pace::Quick) if may(&actor).is_ok() => actor,
        _ => identify(server, peer, headers).await?,
    };
    may(&actor)?;
    within_rate(server, actor)
}

/// Tells who calls, whoever it is, and refuses only those who call too often.
///
/// What they want is not known yet, and not all of it comes to a transaction that looks at the
/// token; so it is looked up (E5).
pub(crate) async fn admit_anybody(
    server: &Server,
    peer: Peer,
    headers: &HeaderMap,
) -> Result<Actor, Error> {
    let actor = identify(server, peer, headers).await?;
    within_rate(server, actor)
}

/// Tells who calls as of now, from the database.
pub(crate) async fn identify(
    server: &Server,
    peer: Peer,
    headers: &HeaderMap,
) -> Result<Actor, Error> {
    match (presented(headers), peer) {
        (Ok(Some(secret)), _) => match server.kernel.authenticate(&secret.reveal()).await {
            Ok(found) => {
                server.known.keep(&secret, &found.answer);
                Ok(found.answer)
            }
            Err(Error::Unauthorized) => {
                server.known.forget(secret.id());
                Err(refused(server, peer))
            }
            Err(error) => Err(error),
        },
        (Err(Unreadable), _) => Err(refused(server, peer)),
        (Ok(None), Peer::Socket) => Ok(Actor::OPERATOR),
        (Ok(None), Peer::Address(_)) => Err(Error::Unauthorized),
    }
}

/// Forgets a token that the kernel refused after all.
pub(crate) fn forget(server: &Server, headers: &HeaderMap) {
    if let Ok(Some(secret)) = presented(headers) {
        server.known.forget(secret.id());
    }
}

/// Counts bad credentials. Only failures count, so that nobody is locked out by others' guesses
/// (S19).
fn refused(server: &Server, peer: Peer) -> Error {
    let from = match peer {
        Peer::Address(address) => Some(address),
        Peer::Socket => None,
    };
    match server.strangers.take(from, Instant::now()) {
        Ok(()) => Error::Unauthorized,
        Err(wait) => too_often("this address".to_owned(), wait),
    }
}

/// Refuses whoever calls too often; an operator never does.
pub(crate) fn within_rate(server: &Server, actor: Actor) -> Result<Actor, Error> {
    if matches!(actor, Actor::Operator { .. }) {
        return Ok(actor);
    }
    match server.rates.take(actor.credential(), Instant::now()) {
        Ok(()) => Ok(actor),
        Err(wait) => Err(too_often(actor.to_string(), wait)),
    }
}

fn too_often(who: String, wait: Duration) -> Error {
    Error::RateLimited {
        who,
        retry_after_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1),
    }
}

/// A credential that cannot be one of ours.
struct Unreadable;

/// Takes the token out of the one place where it may be.
fn presented(headers: &HeaderMap) -> Result<Option<TokenSecret>, Unreadable> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = match (values.next(), values.next()) {
        (None, _) => return Ok(None),
        (Some(value), None) => value.to_str().map_err(|_| Unreadable)?,
        (Some(_), Some(_)) => return Err(Unreadable),
    };
    let (scheme, token) = value.split_once(' ').ok_or(Unreadable)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(Unreadable);
    }
    TokenSecret::parse(token.trim()).map(Some).ok_or(Unreadable)
}
