//! `comity run approve` and `approvals`.

use clap::Args;
use comity_domain::Phase;
use comity_kernel::run::{self, ListApprovals, Words};
use comity_kernel::{Command as _, Query as _};

use super::Named;
use crate::commands::paging::Paging;
use crate::failure::Failure;
use crate::parse::text;
use crate::session::Context;
use crate::show::{Shown, View, evidence};

/// Approves the phase that a run is in.
#[derive(Args)]
pub(crate) struct Approve {
    #[command(flatten)]
    named: Named,
    /// The phase; another one now is refused.
    #[arg(value_parser = text::<Phase>)]
    phase: Phase,
    /// What you have to say about it.
    #[arg(long, value_parser = text::<Words>)]
    note: Option<Words>,
}

/// Lists approvals.
#[derive(Args)]
pub(crate) struct Approvals {
    #[command(flatten)]
    named: Named,
    #[command(flatten)]
    paging: Paging,
}

impl Approve {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = run::Approve {
            run: self.named.run,
            phase: self.phase.clone(),
            note: self.note.clone(),
        };
        let answer = context.session()?.call(run::Approve::NAME, &request);
        let answer = answer.map_err(|failure| self.named.advise(failure))?;
        let text = evidence::approval(&answer);
        Ok(Shown::new(answer, View::Text(text)))
    }
}

impl Approvals {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = ListApprovals {
            run: self.named.run,
            limit: self.paging.limit(),
            after: self.paging.after(),
        };
        let answer = context.session()?.call(ListApprovals::NAME, &request)?;
        let text = evidence::approvals(&answer);
        Ok(Shown::new(answer, View::Text(text)))
    }
}
