//! `comity dispatch cancel` and `retry`.

use clap::Args;
use comity_kernel::dispatch::{CancelDispatch, GetDispatch, RetryDispatch};
use comity_kernel::run::Words;
use comity_kernel::{Command as _, Query as _};

use super::{Named, changed};
use crate::commands::revision;
use crate::failure::Failure;
use crate::parse::text;
use crate::session::{Context, Session};
use crate::show::Shown;

/// Gives work up.
#[derive(Args)]
pub(crate) struct Cancel {
    #[command(flatten)]
    named: Named,
    /// Why.
    #[arg(long, value_parser = text::<Words>)]
    reason: Option<Words>,
    /// The revision you know, another one now is refused; the present one unless given.
    #[arg(long, value_name = "N")]
    revision: Option<i64>,
}

impl Cancel {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let request = CancelDispatch {
            id: self.named.id,
            reason: self.reason.clone(),
            expected_revision: self.revision(&session)?,
        };
        Ok(changed(session.call(CancelDispatch::NAME, &request)?))
    }

    fn revision(&self, session: &Session<'_>) -> Result<i64, Failure> {
        if let Some(given) = self.revision {
            return Ok(given);
        }
        let request = GetDispatch { id: self.named.id };
        revision::of(&session.call(GetDispatch::NAME, &request)?, "dispatch")
    }
}

/// Tries again.
pub(super) fn retry(named: &Named, context: &Context<'_>) -> Result<Shown, Failure> {
    let request = RetryDispatch { id: named.id };
    let session = context.session()?;
    Ok(changed(session.call(RetryDispatch::NAME, &request)?))
}
