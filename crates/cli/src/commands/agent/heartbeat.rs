//! `comity agent heartbeat`.

use clap::Args;
use comity_kernel::Query as _;
use comity_kernel::agent;

use super::profile::Label;
use crate::failure::Failure;
use crate::parse::text;
use crate::session::Context;
use crate::show::Shown;

/// Says that the caller lives.
#[derive(Args)]
pub(crate) struct Heartbeat {
    /// How you are doing, such as `working` or `waiting`.
    #[arg(long, value_parser = text::<Label>)]
    status: Option<Label>,
    /// What you work on.
    #[arg(long, value_parser = text::<Label>)]
    focus: Option<Label>,
}

impl Heartbeat {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = agent::Heartbeat {
            // The credential says whose it is.
            agent: None,
            status: self.status.clone(),
            focus: self.focus.clone(),
        };
        let answer = context.session()?.call(agent::Heartbeat::NAME, &request)?;
        Ok(Shown::entity(answer, "", &[]))
    }
}
