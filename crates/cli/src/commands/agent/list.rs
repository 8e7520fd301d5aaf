//! `comity agent list` and `comity agent show`.

use clap::Args;
use clap_complete::ArgValueCandidates;
use comity_domain::Span;
use comity_kernel::Query as _;
use comity_kernel::agent::{AgentRef, GetAgent, ListAgents};

use super::profile::Label;
use crate::commands::paging::Paging;
use crate::failure::Failure;
use crate::parse::text;
use crate::session::Context;
use crate::show::{Column, Shown};
use crate::token_file;

const LIST: &[Column] = &[
    Column::text("id"),
    Column::text("name"),
    Column::text("program"),
    Column::text("model"),
    Column::time("last_seen"),
    Column::text("status"),
    Column::text("focus"),
    Column::text("task"),
];

const SHOW: &[Column] = &[
    Column::text("id"),
    Column::text("name"),
    Column::text("project"),
    Column::text("program"),
    Column::text("model"),
    Column::text("task"),
    Column::text("status"),
    Column::text("focus"),
    Column::text("capabilities"),
    Column::text("rights"),
    Column::time("last_seen"),
    Column::time("created_at"),
    Column::time("retired_at"),
    Column::text("revision"),
];

/// Lists agents.
#[derive(Args)]
pub(crate) struct List {
    /// Only those heard of within this time.
    #[arg(long, value_name = "TIME", value_parser = text::<Span>)]
    active_within: Option<Span>,
    /// Only those with this capability.
    #[arg(long, value_parser = text::<Label>)]
    capability: Option<Label>,
    #[command(flatten)]
    paging: Paging,
}

/// Shows one agent.
#[derive(Args)]
pub(crate) struct Show {
    /// The agent's name or number.
    #[arg(value_parser = text::<AgentRef>, add = ArgValueCandidates::new(token_file::agents))]
    agent: AgentRef,
}

impl List {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let request = ListAgents {
            project: session.project()?,
            active_within: self.active_within,
            capability: self.capability.clone(),
            limit: self.paging.limit(),
            after: self.paging.after(),
        };
        let answer = session.call(ListAgents::NAME, &request)?;
        Ok(Shown::table(answer, LIST))
    }
}

impl Show {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let request = GetAgent {
            agent: self.agent.clone(),
            project: session.project_of(&self.agent)?,
        };
        let answer = session.call(GetAgent::NAME, &request)?;
        Ok(Shown::entity(answer, "agent", SHOW))
    }
}
