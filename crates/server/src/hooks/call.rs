//! One try over HTTP.

use std::time::Duration;

use comity_domain::{HookSecret, HookUrl, Timestamp};

use super::signature::sign;
use super::telling::Letter;
use crate::outbound::{Limits, Outbound, OutboundError, Url};

/// The longest wait for a connection.
const CONNECT: Duration = Duration::from_secs(5);

/// Why an event was not told.
#[derive(Debug)]
pub(super) enum Failed {
    /// It may work another time.
    Again(String),
    /// The receiver wants it no more.
    Never(String),
}

/// Posts an event. Every 2xx means that it was told; what follows the status is not read.
pub(super) async fn call(
    outbound: &Outbound,
    url: &HookUrl,
    secret: &HookSecret,
    letter: &Letter,
    at: Timestamp,
    longest: Duration,
) -> Result<(), Failed> {
    let url = Url::parse(url.as_str()).map_err(OutboundError::from);
    let url = url.map_err(|error| Failed::Again(error.to_string()))?;
    let body = letter.json.clone().into_bytes();
    let signature = sign(secret, at, &body);
    let (hook, seq) = (letter.hook.to_string(), letter.seq.to_string());
    let delivery = letter.delivery();
    let headers = [
        ("Content-Type", "application/json"),
        ("Comity-Hook", &*hook),
        ("Comity-Seq", &*seq),
        ("Comity-Delivery", &*delivery),
        ("Comity-Signature", &*signature),
    ];
    let limits = Limits {
        connect: CONNECT.min(longest),
        read: longest,
        total: longest,
        body_bytes_max: 0,
    };
    match outbound.tell(&url, &headers, body, limits).await {
        Ok(200..=299) => Ok(()),
        Ok(410) => Err(Failed::Never("answered 410 Gone".to_owned())),
        Ok(status) => Err(Failed::Again(format!("answered {status}"))),
        Err(error) => Err(Failed::Again(error.to_string())),
    }
}
