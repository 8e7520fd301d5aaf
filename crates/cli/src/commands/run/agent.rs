//! `comity run agent`.

use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;
use comity_domain::limits::LABEL_BYTES_MAX;
use comity_domain::{Line, Outcome};
use comity_kernel::agent::AgentRef;
use comity_kernel::run::{AddRunAgent, FinishRunAgent, ListRunAgents};
use comity_kernel::{Command as _, Query as _};
use serde_json::Value;

use super::Named;
use crate::commands::paging::Paging;
use crate::failure::Failure;
use crate::parse::{text, word};
use crate::session::Context;
use crate::show::{Shown, View, evidence};
use crate::token_file;

/// Agents of a run.
#[derive(Subcommand)]
pub(crate) enum AgentCommand {
    /// Let an agent take part in a run; the check `agents_complete` waits for it.
    Add(Add),
    /// List the agents of a run.
    List(List),
    /// Say that an agent has done its part.
    Finish(Finish),
}

#[derive(Args)]
pub(crate) struct Add {
    #[command(flatten)]
    named: Named,
    /// The agent's name or number.
    #[arg(value_parser = text::<AgentRef>, add = ArgValueCandidates::new(token_file::agents))]
    agent: AgentRef,
    /// What it does there.
    #[arg(long, value_parser = text::<Line<LABEL_BYTES_MAX>>)]
    role: Option<Line<LABEL_BYTES_MAX>>,
}

#[derive(Args)]
pub(crate) struct List {
    #[command(flatten)]
    named: Named,
    #[command(flatten)]
    paging: Paging,
}

#[derive(Args)]
pub(crate) struct Finish {
    #[command(flatten)]
    named: Named,
    /// The agent's name or number.
    #[arg(value_parser = text::<AgentRef>, add = ArgValueCandidates::new(token_file::agents))]
    agent: AgentRef,
    /// How it went.
    #[arg(value_parser = word::<Outcome>(&["completed", "failed"]))]
    outcome: Outcome,
}

impl AgentCommand {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        match self {
            Self::Add(add) => add.run(context),
            Self::List(list) => list.run(context),
            Self::Finish(finish) => finish.run(context),
        }
    }
}

impl Add {
    fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = AddRunAgent {
            run: self.named.run,
            agent: self.agent.clone(),
            role: self.role.clone(),
        };
        Ok(one(context.session()?.call(AddRunAgent::NAME, &request)?))
    }
}

impl List {
    fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = ListRunAgents {
            run: self.named.run,
            limit: self.paging.limit(),
            after: self.paging.after(),
        };
        let answer = context.session()?.call(ListRunAgents::NAME, &request)?;
        let text = evidence::agents(&answer);
        Ok(Shown::new(answer, View::Text(text)))
    }
}

impl Finish {
    fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = FinishRunAgent {
            run: self.named.run,
            agent: self.agent.clone(),
            outcome: self.outcome,
        };
        Ok(one(context
            .session()?
            .call(FinishRunAgent::NAME, &request)?))
    }
}

fn one(answer: Value) -> Shown {
    let text = evidence::agent(&answer);
    Shown::new(answer, View::Text(text))
}
