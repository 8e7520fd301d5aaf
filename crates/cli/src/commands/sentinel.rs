//! `comity sentinel`.

use clap::{Args, Subcommand};
use comity_domain::Span;
use comity_kernel::Command as _;
use comity_kernel::lock::Name;
use comity_kernel::sentinel::{ClaimSentinel, ResetSentinel};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::parse::text;
use crate::session::Context;
use crate::show::{Shown, View, ago, field, length};

/// Exit code of an expected no.
const NO: u8 = 1;

/// Sentinels.
#[derive(Subcommand)]
pub(crate) enum SentinelCommand {
    /// Claim something to be done once per interval: the first to ask gets it.
    Claim(Claim),
    /// Let it be claimed at once, whatever its interval.
    Reset(Reset),
}

#[derive(Args)]
#[command(
    after_help = "It ends with 0 if it is yours to do, and with 1 if somebody has claimed it already.\n\
    Example: comity sentinel claim nightly-tests --every 24h && run-the-tests"
)]
pub(crate) struct Claim {
    /// The sentinel's name.
    #[arg(value_parser = text::<Name>)]
    name: Name,
    /// The interval, such as `1h`.
    #[arg(long, value_name = "TIME", value_parser = text::<Span>)]
    every: Span,
    /// What of it; the same name may be claimed once per scope.
    #[arg(long, value_parser = text::<Name>)]
    scope: Option<Name>,
}

#[derive(Args)]
pub(crate) struct Reset {
    /// The sentinel's name.
    #[arg(value_parser = text::<Name>)]
    name: Name,
    /// Its scope, if it was claimed with one.
    #[arg(long, value_parser = text::<Name>)]
    scope: Option<Name>,
}

impl SentinelCommand {
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        match self {
            Self::Claim(claim) => claim.run(context),
            Self::Reset(reset) => reset.run(context),
        }
    }
}

impl Claim {
    fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let request = ClaimSentinel {
            project: session.project()?,
            name: self.name.clone(),
            scope: self.scope.clone(),
            every: self.every,
        };
        let answer = session.call(ClaimSentinel::NAME, &request)?;
        if answer.get("claimed") == Some(&Value::Bool(true)) {
            return Ok(Shown::new(answer, View::Text("claimed".to_owned())));
        }
        let failure = throttled(&answer);
        Ok(Shown {
            failure: Some(failure),
            ..Shown::new(answer, View::Text("not claimed".to_owned()))
        })
    }
}

/// Says who has it, and when to come back.
fn throttled(answer: &Value) -> Failure {
    let sentinel = answer.get("sentinel").unwrap_or(answer);
    let wait_ms = answer.get("retry_after_ms").and_then(Value::as_i64);
    let wait_ms = wait_ms.unwrap_or_default();
    let (name, by) = (field(sentinel, "name"), field(sentinel, "claimed_by"));
    let at = ago(&field(sentinel, "claimed_at"));
    let body = json!({
        "error": "rate_limited",
        "message": format!("`{name}` was claimed by `{by}` {at}"),
        "hint": format!("it can be claimed again in {}", length(wait_ms)),
        "retry_after_ms": wait_ms,
    });
    Failure {
        exit: NO,
        ..Failure::answered(body)
    }
}

impl Reset {
    fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let request = ResetSentinel {
            project: session.project()?,
            name: self.name.clone(),
            scope: self.scope.clone(),
        };
        let answer = session.call(ResetSentinel::NAME, &request)?;
        let text = format!("{} can be claimed at once", &*self.name);
        Ok(Shown::new(answer, View::Text(text)))
    }
}
