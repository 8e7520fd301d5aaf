//! `comity agent update`, `rotate-token` and `retire`.

use clap::Args;
use clap_complete::ArgValueCandidates;
use comity_domain::Prose;
use comity_domain::limits::TASK_BYTES_MAX;
use comity_kernel::Command as _;
use comity_kernel::agent::{self, AgentRef, RetireAgent, UpdateAgent};

use super::{Described, ONE};
use crate::failure::Failure;
use crate::parse::text;
use crate::session::Context;
use crate::show::{Column, Shown};
use crate::token_file;

const TOKEN: &[Column] = &[Column::text("id"), Column::time("created_at")];

/// Changes what an agent says of itself.
#[derive(Args)]
pub(crate) struct Update {
    #[command(flatten)]
    named: Named,
    #[command(flatten)]
    described: Described,
    /// The revision you read; another one now is refused.
    #[arg(long, value_name = "N")]
    expected_revision: Option<i64>,
}

/// Makes a new token for an agent.
#[derive(Args)]
pub(crate) struct RotateToken {
    #[command(flatten)]
    named: Named,
}

/// Retires an agent.
#[derive(Args)]
pub(crate) struct Retire {
    #[command(flatten)]
    named: Named,
    /// Why.
    #[arg(long, value_parser = text::<Prose<TASK_BYTES_MAX>>)]
    reason: Option<Prose<TASK_BYTES_MAX>>,
}

#[derive(Args)]
struct Named {
    /// The agent's name or number.
    #[arg(value_parser = text::<AgentRef>, add = ArgValueCandidates::new(token_file::agents))]
    agent: AgentRef,
}

impl Update {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let request = UpdateAgent {
            agent: self.named.agent.clone(),
            project: session.project_of(&self.named.agent)?,
            program: self.described.program.clone(),
            model: self.described.model.clone(),
            task: self.described.task.clone(),
            capabilities: self.described.capabilities(),
            metadata: self.described.metadata(),
            rights: self.described.rights(),
            contact_policy: self.described.contact_policy,
            expected_revision: self.expected_revision,
        };
        let answer = session.call(UpdateAgent::NAME, &request)?;
        Ok(Shown::entity(answer, "agent", ONE))
    }
}

impl RotateToken {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let request = agent::RotateToken {
            agent: self.named.agent.clone(),
            project: session.project_of(&self.named.agent)?,
        };
        let answer = session.call(agent::RotateToken::NAME, &request)?;
        Ok(Shown::entity(answer, "token", TOKEN))
    }
}

impl Retire {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let request = RetireAgent {
            agent: self.named.agent.clone(),
            project: session.project_of(&self.named.agent)?,
            reason: self.reason.clone(),
        };
        let answer = session.call(RetireAgent::NAME, &request)?;
        Ok(Shown::entity(answer, "agent", ONE))
    }
}
