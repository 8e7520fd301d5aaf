//! Carries one request to a server and its answer back.

use comity_kernel::mail::attachment::Base64;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HeaderMap};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};

use super::address::Address;
use super::content::BYTES;
use crate::failure::Failure;

/// The largest answer that is taken in.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// Sends a request; an object comes back, or the base64 of bytes as they are.
pub(super) async fn send<S>(
    stream: S,
    request: Request<Full<Bytes>>,
    server: &Address,
) -> Result<(u16, Value), Failure>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| server.away(&error))?;
    let driving = tokio::spawn(connection);
    let exchange = async {
        let response = sender.send_request(request).await;
        let response = response.map_err(|error| server.away(&error))?;
        let is_bytes = response.status() == StatusCode::OK && is_bytes(response.headers());
        let status = response.status().as_u16();
        let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX);
        let body = body.collect().await;
        let body = body.map_err(|error| server.away(&*error))?.to_bytes();
        if is_bytes {
            return Ok((status, serde_json::to_value(Base64::new(body.into()))?));
        }
        match serde_json::from_slice(&body) {
            Ok(answer @ Value::Object(_)) => Ok((status, answer)),
            _ => Err(Failure::unusable(format!(
                "the server at {server} answered {status} without JSON; is it Comity?"
            ))),
        }
    };
    let answer = exchange.await;
    driving.abort();
    answer
}

fn is_bytes(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|kind| kind == BYTES)
}
