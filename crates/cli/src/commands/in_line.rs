//! Waits until others let go, as long as it takes and beside servers that come and go.

use std::time::{Duration, Instant};

use comity_domain::Span;
use comity_domain::limits::WAIT_US_MAX;
use comity_kernel::Error;
use serde_json::Value;

use crate::failure::Failure;
use crate::session::{Context, Session};

/// How long the directory is held at a time without a server: one that starts waits for it.
const EMBEDDED: Duration = Duration::from_secs(2);

/// Tries until it is granted or the patience is at its end; `attempt` gets how long it may wait.
pub(crate) fn insist(
    context: &Context<'_>,
    patience: Option<Span>,
    attempt: impl Fn(&Session<'_>, Option<Span>) -> Result<Value, Failure>,
) -> Result<Value, Failure> {
    until(context, patience, |_| true, attempt)
}

/// Does the same until an answer is good enough.
pub(crate) fn until(
    context: &Context<'_>,
    patience: Option<Span>,
    is_enough: impl Fn(&Value) -> bool,
    attempt: impl Fn(&Session<'_>, Option<Span>) -> Result<Value, Failure>,
) -> Result<Value, Failure> {
    let Some(patience) = patience else {
        return attempt(&context.session()?, None);
    };
    if patience.micros() > WAIT_US_MAX {
        return Err(Error::invalid("--wait", "must be at most 60 s").into());
    }
    let patience = Duration::from_micros(patience.micros().unsigned_abs());
    let started = Instant::now();
    loop {
        let session = context.session()?;
        let left = patience.saturating_sub(started.elapsed());
        let step = match session.door.server() {
            Some(_) => left,
            None => left.min(EMBEDDED),
        };
        let step = Span::from_micros(i64::try_from(step.as_micros()).unwrap_or(i64::MAX));
        let is_over = || started.elapsed() >= patience;
        match attempt(&session, Some(step)) {
            Err(failure) if is_passing(context, &failure) && !is_over() => {}
            Ok(answer) if !is_enough(&answer) && !is_over() => {}
            done => return done,
        }
    }
}

/// Tells whether trying again may help: others hold it, or the server that was asked went away.
fn is_passing(context: &Context<'_>, failure: &Failure) -> bool {
    let is_held = failure.body.get("error").and_then(Value::as_str) == Some("reservation_conflict");
    is_held || (failure.is_away && context.globals.url.is_none())
}
