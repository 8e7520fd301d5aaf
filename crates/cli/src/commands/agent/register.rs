//! `comity agent register`.

use clap::Args;
use comity_domain::AgentName;
use comity_kernel::agent::RegisterAgent;
use comity_kernel::{Command as _, Error};

use super::profile::Label;
use super::{Described, ONE};
use crate::failure::Failure;
use crate::session::Context;
use crate::show::Shown;

/// Registers an agent.
#[derive(Args)]
pub(crate) struct Register {
    /// The name; a readable one is made up unless given.
    #[arg(long, value_parser = AgentName::parse)]
    name: Option<AgentName>,
    #[command(flatten)]
    described: Described,
}

impl Register {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let request = RegisterAgent {
            project: session.project()?,
            name: self.name.clone(),
            program: given(self.described.program.as_ref(), "--program")?,
            model: given(self.described.model.as_ref(), "--model")?,
            task: self.described.task.clone(),
            capabilities: self.described.capabilities(),
            metadata: self.described.metadata(),
            rights: self.described.rights(),
            contact_policy: self.described.contact_policy,
        };
        let answer = session.call(RegisterAgent::NAME, &request)?;
        Ok(Shown::entity(answer, "agent", ONE))
    }
}

/// Returns what was said: a guess would overwrite what an agent said before.
fn given(said: Option<&Label>, option: &str) -> Result<Label, Error> {
    let missing = || Error::invalid(option, "must be given");
    said.cloned().ok_or_else(missing)
}
