//! Waits for mail, as long as it takes and beside servers that come and go.

use std::time::{Duration, Instant};

use comity_domain::Span;
use comity_domain::limits::WAIT_US_MAX;
use comity_kernel::mail::Inbox;
use comity_kernel::{Error, Query as _};
use serde_json::Value;

use crate::failure::Failure;
use crate::session::{Context, Session};

/// How long a server may be asked to wait.
const SERVED: Duration = Duration::from_micros(WAIT_US_MAX.unsigned_abs());
/// How long the directory is held at a time without a server: one that starts waits for it.
const EMBEDDED: Duration = Duration::from_secs(2);

/// Lists a box as soon as something is in it, or when the time is over.
pub(crate) fn inbox(
    context: &Context<'_>,
    patience: Span,
    wanted: impl Fn(&Session<'_>) -> Result<Inbox, Error>,
) -> Result<Value, Failure> {
    let patience = Duration::from_micros(patience.micros().unsigned_abs());
    let started = Instant::now();
    let mut kept = None;
    loop {
        let session = match kept.take() {
            Some(session) => session,
            None => context.session()?,
        };
        let left = patience.saturating_sub(started.elapsed());
        let step = left.min(longest(&session));
        let request = Inbox {
            wait: Some(span(step)),
            ..wanted(&session)?
        };
        let is_over = || started.elapsed() >= patience;
        // A URL stays what it is; locally a server may have started or ended meanwhile.
        let by_url = context.globals.url.is_some();
        match session.call(Inbox::NAME, &request) {
            Err(failure) if by_url || is_over() || !failure.is_away => return Err(failure),
            Ok(answer) if is_over() || !is_empty(&answer) => return Ok(answer),
            Err(_) | Ok(_) => kept = by_url.then_some(session),
        }
    }
}

/// Tells whether nothing is in a list.
pub(crate) fn is_empty(page: &Value) -> bool {
    let items = page.get("items").and_then(Value::as_array);
    items.is_none_or(Vec::is_empty)
}

/// How long one call may wait; it must be over before `--timeout` is.
pub(crate) fn longest(session: &Session<'_>) -> Duration {
    let way = match session.door.server() {
        Some(_) => SERVED,
        None => EMBEDDED,
    };
    let told = session.globals.timeout();
    told.map_or(way, |timeout| way.min(timeout / 2))
}

/// Returns a length of time as requests have it.
pub(crate) fn span(length: Duration) -> Span {
    Span::from_micros(i64::try_from(length.as_micros()).unwrap_or(i64::MAX))
}
