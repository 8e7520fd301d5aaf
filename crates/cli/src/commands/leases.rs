//! `comity leases`.

use clap::Args;
use clap_complete::ArgValueCandidates;
use comity_domain::ReservationId;
use comity_kernel::Query as _;
use comity_kernel::agent::AgentRef;
use comity_kernel::reservation::list::State;
use comity_kernel::reservation::{GetReservation, ListReservations};

use super::paging::Paging;
use crate::failure::Failure;
use crate::parse::{json, text, word};
use crate::session::Context;
use crate::show::{Column, Shown, View, leases};
use crate::token_file;

const ONE: &[Column] = &[
    Column::text("id"),
    Column::text("held_by"),
    Column::text("project"),
    Column::text("path_pattern"),
    Column::text("exclusive"),
    Column::text("reason"),
    Column::time("created_at"),
    Column::text("expires_at"),
    Column::text("is_active"),
    Column::text("ended"),
    Column::text("fence"),
];

/// Shows who holds what.
#[derive(Args)]
#[command(after_help = "Example: comity leases --agent Green")]
pub(crate) struct Leases {
    /// The number of one lease, to see all of it.
    #[arg(value_parser = json::<ReservationId>)]
    id: Option<ReservationId>,
    /// Only those of this agent.
    #[arg(long, value_parser = text::<AgentRef>, conflicts_with = "id",
        add = ArgValueCandidates::new(token_file::agents))]
    agent: Option<AgentRef>,
    /// Which ones.
    #[arg(long, default_value = "active", conflicts_with = "id",
        value_parser = word::<State>(&["active", "ended", "all"]))]
    state: State,
    #[command(flatten)]
    paging: Paging,
}

impl Leases {
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        if let Some(id) = self.id {
            let answer = session.call(GetReservation::NAME, &GetReservation { id })?;
            return Ok(Shown::entity(answer, "reservation", ONE));
        }
        let request = ListReservations {
            project: match &self.agent {
                Some(agent) => session.project_of(agent)?,
                None => session.project()?,
            },
            agent: self.agent.clone(),
            state: self.state,
            limit: self.paging.limit(),
            after: self.paging.after(),
        };
        let answer = session.call(ListReservations::NAME, &request)?;
        let text = leases::page(&answer);
        Ok(Shown::new(answer, View::Text(text)))
    }
}
