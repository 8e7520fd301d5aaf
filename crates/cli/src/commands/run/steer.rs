//! `comity run advance`, `skip`, `roll-back`, `pause` and `resume`.

use clap::Args;
use comity_domain::Phase;
use comity_kernel::Command as _;
use comity_kernel::run::{AdvanceRun, PauseRun, ResumeRun, RollBackRun, SkipPhase, Words};

use super::{Named, changed};
use crate::failure::Failure;
use crate::parse::text;
use crate::session::Context;
use crate::show::{Shown, View, gates, runs};

/// Moves a run on.
#[derive(Args)]
#[command(
    after_help = "It ends with 1 if the gate refuses, and shows every check. The refusal is part of the history.\n\
    Example: comity run advance 7 --expect planned --note 'The plan is agreed.'"
)]
pub(crate) struct Advance {
    #[command(flatten)]
    named: Named,
    /// The phase you think it is in; another one now is refused.
    #[arg(long = "expect", value_name = "PHASE", value_parser = text::<Phase>)]
    expected: Option<Phase>,
    /// What you have to say about it.
    #[arg(long, value_parser = text::<Words>)]
    note: Option<Words>,
}

/// Lets a run jump a phase.
#[derive(Args)]
#[command(after_help = "The gates of every step that is jumped still count.")]
pub(crate) struct Skip {
    #[command(flatten)]
    named: Named,
    /// The phase.
    #[arg(value_parser = text::<Phase>)]
    phase: Phase,
    /// Why.
    #[arg(long, value_parser = text::<Words>)]
    reason: Words,
}

/// Takes a run back.
#[derive(Args)]
#[command(
    after_help = "What the undone phases left behind is withdrawn, and so are verdicts and approvals of the phase\n\
    it returns to and of those after it; its open dispatches are cancelled."
)]
pub(crate) struct RollBack {
    #[command(flatten)]
    named: Named,
    /// The phase to go back to.
    #[arg(long = "to", value_name = "PHASE", value_parser = text::<Phase>)]
    phase: Phase,
    /// Why.
    #[arg(long, value_parser = text::<Words>)]
    reason: Words,
    /// The phase you think it is in; another one now is refused.
    #[arg(long = "expect", value_name = "PHASE", value_parser = text::<Phase>)]
    expected: Option<Phase>,
}

/// Lets a run rest.
#[derive(Args)]
pub(crate) struct Pause {
    #[command(flatten)]
    named: Named,
    /// Why.
    #[arg(long, value_parser = text::<Words>)]
    reason: Option<Words>,
}

/// Lets a run go on.
#[derive(Args)]
pub(crate) struct Resume {
    #[command(flatten)]
    named: Named,
    /// Why.
    #[arg(long, value_parser = text::<Words>)]
    reason: Option<Words>,
}

impl Advance {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = AdvanceRun {
            run: self.named.run,
            expected_phase: self.expected.clone(),
            note: self.note.clone(),
        };
        let answer = context.session()?.call(AdvanceRun::NAME, &request);
        let answer = answer.map_err(|failure| self.named.advise(failure))?;
        let text = gates::moved(&answer);
        Ok(Shown::new(answer, View::Text(text)))
    }
}

impl Skip {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = SkipPhase {
            run: self.named.run,
            phase: self.phase.clone(),
            reason: self.reason.clone(),
        };
        let answer = context.session()?.call(SkipPhase::NAME, &request)?;
        let text = format!("run {} will skip {}", self.named.run, self.phase);
        Ok(Shown::new(answer, View::Text(text)))
    }
}

impl RollBack {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = RollBackRun {
            run: self.named.run,
            to_phase: self.phase.clone(),
            reason: self.reason.clone(),
            expected_phase: self.expected.clone(),
        };
        let answer = context.session()?.call(RollBackRun::NAME, &request);
        let answer = answer.map_err(|failure| self.named.advise(failure))?;
        let text = runs::undone(&answer);
        Ok(Shown::new(answer, View::Text(text)))
    }
}

impl Pause {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = PauseRun {
            run: self.named.run,
            reason: self.reason.clone(),
        };
        Ok(changed(context.session()?.call(PauseRun::NAME, &request)?))
    }
}

impl Resume {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = ResumeRun {
            run: self.named.run,
            reason: self.reason.clone(),
        };
        Ok(changed(context.session()?.call(ResumeRun::NAME, &request)?))
    }
}
