//! `comity dispatch list`, `status` and `group`.

use clap::Args;
use clap_complete::ArgValueCandidates;
use comity_domain::{DispatchState, RunId};
use comity_kernel::Query as _;
use comity_kernel::agent::AgentRef;
use comity_kernel::dispatch::{self, GetDispatch, GroupOutcome, ListDispatches};
use comity_kernel::run::AgentKind;

use super::Named;
use crate::commands::paging::Paging;
use crate::failure::Failure;
use crate::parse::{json, text, word};
use crate::session::Context;
use crate::show::{Shown, View, dispatches};
use crate::token_file;

const STATES: &[&str] = &[
    "queued",
    "spawned",
    "running",
    "completed",
    "failed",
    "cancelled",
    "timed_out",
];

/// Lists dispatches.
#[derive(Args)]
pub(crate) struct List {
    /// Only those of this run.
    #[arg(id = "of", long = "run", value_name = "RUN", value_parser = json::<RunId>)]
    run: Option<RunId>,
    /// Only those in this state.
    #[arg(long, value_name = "STATE", value_parser = word::<DispatchState>(STATES))]
    state: Option<DispatchState>,
    /// Only those for this kind of agent.
    #[arg(long, value_name = "KIND", value_parser = text::<AgentKind>)]
    kind: Option<AgentKind>,
    /// Only those of this group.
    #[arg(long, value_parser = text::<dispatch::Group>)]
    group: Option<dispatch::Group>,
    /// Only those that this agent claimed last, by name or number.
    #[arg(long, value_name = "AGENT", value_parser = text::<AgentRef>, add = ArgValueCandidates::new(token_file::agents))]
    claimed_by: Option<AgentRef>,
    #[command(flatten)]
    paging: Paging,
}

/// Sums up a group.
#[derive(Args)]
pub(crate) struct Group {
    /// The group.
    #[arg(value_parser = text::<dispatch::Group>)]
    group: dispatch::Group,
}

impl List {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let request = ListDispatches {
            project: session.project()?,
            run: self.run,
            state: self.state,
            agent_kind: self.kind.clone(),
            group: self.group.clone(),
            claimed_by: self.claimed_by.clone(),
            limit: self.paging.limit(),
            after: self.paging.after(),
        };
        let answer = session.call(ListDispatches::NAME, &request)?;
        let text = dispatches::page(&answer);
        Ok(Shown::new(answer, View::Text(text)))
    }
}

/// Shows one dispatch.
pub(super) fn status(named: &Named, context: &Context<'_>) -> Result<Shown, Failure> {
    let request = GetDispatch { id: named.id };
    let answer = context.session()?.call(GetDispatch::NAME, &request)?;
    let text = dispatches::whole(&answer);
    Ok(Shown::new(answer, View::Text(text)))
}

impl Group {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let request = GroupOutcome {
            project: session.project()?,
            group: self.group.clone(),
        };
        let answer = session.call(GroupOutcome::NAME, &request)?;
        let text = dispatches::group(&answer);
        Ok(Shown::new(answer, View::Text(text)))
    }
}
