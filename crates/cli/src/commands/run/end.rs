//! `comity run cancel` and `fail`.

use clap::Args;
use comity_kernel::Command as _;
use comity_kernel::run::{CancelRun, FailRun, Words};
use serde_json::Value;

use super::Named;
use crate::failure::Failure;
use crate::parse::text;
use crate::session::Context;
use crate::show::{Shown, View, runs};

/// Gives a run up.
#[derive(Args)]
#[command(
    after_help = "Its open dispatches are cancelled and its leases end. Repeating it changes nothing."
)]
pub(crate) struct Cancel {
    #[command(flatten)]
    named: Named,
    /// Why.
    #[arg(long, value_parser = text::<Words>)]
    reason: Option<Words>,
}

/// Says that a run came to nothing.
#[derive(Args)]
#[command(after_help = "Its open dispatches are cancelled and its leases end. Its children go on.")]
pub(crate) struct Fail {
    #[command(flatten)]
    named: Named,
    /// Why.
    #[arg(long, value_parser = text::<Words>)]
    reason: Option<Words>,
}

impl Cancel {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = CancelRun {
            run: self.named.run,
            reason: self.reason.clone(),
        };
        Ok(ended(context.session()?.call(CancelRun::NAME, &request)?))
    }
}

impl Fail {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = FailRun {
            run: self.named.run,
            reason: self.reason.clone(),
        };
        Ok(ended(context.session()?.call(FailRun::NAME, &request)?))
    }
}

fn ended(answer: Value) -> Shown {
    let text = runs::undone(&answer);
    Shown::new(answer, View::Text(text))
}
