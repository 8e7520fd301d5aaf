//! `comity run verdict` and `verdicts`.

use clap::Args;
use comity_domain::{Phase, Verdict};
use comity_kernel::run::{ListVerdicts, RecordVerdict, Words};
use comity_kernel::{Command as _, Query as _};

use super::Named;
use crate::commands::paging::Paging;
use crate::failure::Failure;
use crate::parse::{text, word};
use crate::session::Context;
use crate::show::{Shown, View, evidence};

const VERDICTS: &[&str] = &["pass", "warn", "fail", "reject"];

/// Judges the work of a phase.
#[derive(Args)]
#[command(
    after_help = "Example: comity run verdict 7 pass --phase review --summary 'All tests pass.'"
)]
pub(crate) struct Judge {
    #[command(flatten)]
    named: Named,
    /// What you think of it; `reject` means that it cannot be judged.
    #[arg(value_parser = word::<Verdict>(VERDICTS))]
    verdict: Verdict,
    /// Why.
    #[arg(long, value_parser = text::<Words>)]
    summary: Option<Words>,
    /// The phase you judge; another one now is refused.
    #[arg(long, value_parser = text::<Phase>)]
    phase: Option<Phase>,
}

/// Lists verdicts.
#[derive(Args)]
pub(crate) struct Verdicts {
    #[command(flatten)]
    named: Named,
    #[command(flatten)]
    paging: Paging,
}

impl Judge {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = RecordVerdict {
            run: self.named.run,
            verdict: self.verdict,
            summary: self.summary.clone(),
            phase: self.phase.clone(),
        };
        let answer = context.session()?.call(RecordVerdict::NAME, &request);
        let answer = answer.map_err(|failure| self.named.advise(failure))?;
        let text = evidence::verdict(&answer);
        Ok(Shown::new(answer, View::Text(text)))
    }
}

impl Verdicts {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = ListVerdicts {
            run: self.named.run,
            limit: self.paging.limit(),
            after: self.paging.after(),
        };
        let answer = context.session()?.call(ListVerdicts::NAME, &request)?;
        let text = evidence::verdicts(&answer);
        Ok(Shown::new(answer, View::Text(text)))
    }
}
