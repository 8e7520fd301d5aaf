//! `comity gate`.

use clap::{Args, Subcommand};
use comity_domain::Phase;
use comity_kernel::gate::{CheckGate, OverrideGate};
use comity_kernel::run::Words;
use comity_kernel::{Command as _, Query as _};

use super::run::Named;
use crate::failure::Failure;
use crate::parse::text;
use crate::session::Context;
use crate::show::{Shown, View, gates};

/// Gates.
#[derive(Subcommand)]
pub(crate) enum GateCommand {
    /// Ask whether a run may leave its phase, without moving it.
    Check(Check),
    /// Move a run on whatever its gate says; what it said is recorded with your reason.
    Override(Override),
}

#[derive(Args)]
#[command(after_help = "It ends with 0 if the run may, and with 1 if it may not.")]
pub(crate) struct Check {
    #[command(flatten)]
    named: Named,
}

#[derive(Args)]
pub(crate) struct Override {
    #[command(flatten)]
    named: Named,
    /// Why the gate does not count this time.
    #[arg(long, value_parser = text::<Words>)]
    reason: Words,
    /// The phase you think it is in; another one now is refused.
    #[arg(long = "expect", value_name = "PHASE", value_parser = text::<Phase>)]
    expected: Option<Phase>,
}

impl GateCommand {
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        match self {
            Self::Check(check) => check.run(context),
            Self::Override(overriding) => overriding.run(context),
        }
    }
}

impl Check {
    fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = CheckGate {
            run: self.named.run,
        };
        let answer = context.session()?.call(CheckGate::NAME, &request)?;
        let failure = gates::refusal(&answer).map(Failure::answered);
        let text = gates::verdict(&answer);
        Ok(Shown {
            failure: failure.map(|failure| self.named.advise(failure)),
            ..Shown::new(answer, View::Text(text))
        })
    }
}

impl Override {
    fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = OverrideGate {
            run: self.named.run,
            reason: self.reason.clone(),
            expected_phase: self.expected.clone(),
        };
        let answer = context.session()?.call(OverrideGate::NAME, &request);
        let answer = answer.map_err(|failure| self.named.advise(failure))?;
        let text = gates::moved(&answer);
        Ok(Shown::new(answer, View::Text(text)))
    }
}
