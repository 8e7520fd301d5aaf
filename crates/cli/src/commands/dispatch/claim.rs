//! `comity dispatch claim`.

use clap::Args;
use comity_domain::{Span, Ttl};
use comity_kernel::Command as _;
use comity_kernel::dispatch::ClaimDispatch;
use comity_kernel::run::AgentKind;
use serde_json::{Value, json};

use crate::commands::in_line;
use crate::failure::Failure;
use crate::parse::text;
use crate::session::Context;
use crate::show::{Shown, View, dispatches};

/// Claims work.
#[derive(Args)]
#[command(
    after_help = "It ends with 1 if there is nothing to claim. All further calls carry the claim's fence.\n\
    Example: comity dispatch claim --kind reviewer --lease 10m --wait 60s"
)]
pub(crate) struct Claim {
    /// A kind of agent that you are; again for more, or with commas.
    #[arg(long = "kind", value_name = "KIND", required = true, value_delimiter = ',', value_parser = text::<AgentKind>)]
    kinds: Vec<AgentKind>,
    /// How long the claim lasts, 1 s to 24 h: 5 minutes unless given.
    #[arg(long, value_name = "TIME", value_parser = text::<Ttl>)]
    lease: Option<Ttl>,
    /// How long to wait for work, at most `60s`.
    #[arg(long, value_name = "TIME", value_parser = text::<Span>)]
    wait: Option<Span>,
}

impl Claim {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let answer = in_line::until(context, self.wait, is_claimed, |session, wait| {
            let request = ClaimDispatch {
                project: session.project()?,
                agent_kinds: self.kinds.clone(),
                lease: self.lease,
                wait,
            };
            session.call(ClaimDispatch::NAME, &request)
        })?;
        if is_claimed(&answer) {
            let text = dispatches::whole(&answer);
            return Ok(Shown::new(answer, View::Text(text)));
        }
        Ok(Shown {
            failure: Some(nothing()),
            ..Shown::new(answer, View::Text("nothing to claim".to_owned()))
        })
    }
}

fn is_claimed(answer: &Value) -> bool {
    answer.get("dispatch").is_some_and(|one| !one.is_null())
}

fn nothing() -> Failure {
    Failure::answered(json!({
        "error": "not_found",
        "message": "there is nothing to claim",
        "hint": "wait for it with `--wait 60s`, or look with `comity dispatch list --state queued`",
    }))
}
