//! `comity dispatch wait`.

use std::time::{Duration, Instant};

use clap::Args;
use comity_domain::Span;
use comity_kernel::Query as _;
use comity_kernel::dispatch::GetDispatch;
use serde_json::{Value, json};

use super::Named;
use crate::failure::Failure;
use crate::parse::text;
use crate::session::Context;
use crate::show::{Shown, View, dispatches, field};

/// How often it is looked at.
const LOOKS_EVERY: Duration = Duration::from_millis(500);

/// Waits for a dispatch.
#[derive(Args)]
#[command(
    after_help = "It ends with 0 if the work was completed, and with 1 if it ended otherwise or not in time."
)]
pub(crate) struct Wait {
    #[command(flatten)]
    named: Named,
    /// How long at most, such as `90s` or `1h`: until it is settled unless given.
    #[arg(long = "for", value_name = "TIME", value_parser = text::<Span>)]
    patience: Option<Span>,
}

impl Wait {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let answer = self.settled(context)?;
        let text = dispatches::whole(&answer);
        let dispatch = answer.get("dispatch").unwrap_or(&Value::Null);
        let failure = match field(dispatch, "state").as_str() {
            "completed" => None,
            state => Some(not_completed(self.named.id.get(), state)),
        };
        Ok(Shown {
            failure,
            ..Shown::new(answer, View::Text(text))
        })
    }

    /// Looks until it is settled or the time is over. Each look opens its own door, so that a
    /// server may start or end meanwhile.
    fn settled(&self, context: &Context<'_>) -> Result<Value, Failure> {
        let request = GetDispatch { id: self.named.id };
        let patience = self.patience.map(|span| span.micros().unsigned_abs());
        let patience = patience.map_or(Duration::MAX, Duration::from_micros);
        let started = Instant::now();
        loop {
            let looked = context
                .session()
                .and_then(|session| session.call(GetDispatch::NAME, &request));
            let left = patience.saturating_sub(started.elapsed());
            match looked {
                Err(failure) if left.is_zero() || !is_passing(context, &failure) => {
                    return Err(failure);
                }
                Ok(answer) if left.is_zero() || is_settled(&answer) => return Ok(answer),
                Err(_) | Ok(_) => std::thread::sleep(left.min(LOOKS_EVERY)),
            }
        }
    }
}

/// Tells whether a server that was asked went away; locally another way may be open.
fn is_passing(context: &Context<'_>, failure: &Failure) -> bool {
    failure.is_away && context.globals.url.is_none()
}

fn is_settled(answer: &Value) -> bool {
    let settled = answer.pointer("/dispatch/settled_at");
    settled.is_some_and(|time| !time.is_null())
}

fn not_completed(id: i64, state: &str) -> Failure {
    let hint = match state {
        "failed" | "timed_out" => format!("try again with `comity dispatch retry {id}`"),
        "cancelled" => "make another one if it is still wanted".to_owned(),
        _ => "wait longer with `--for`".to_owned(),
    };
    Failure::answered(json!({
        "error": "illegal_transition",
        "message": format!("dispatch {id} is {}", state.replace('_', " ")),
        "hint": hint,
        "state": state,
    }))
}
