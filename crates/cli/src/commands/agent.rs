//! `comity agent`.

mod change;
mod heartbeat;
mod list;
mod profile;
mod register;

use clap::Subcommand;

pub(crate) use self::profile::{Described, Label};
use crate::failure::Failure;
use crate::session::Context;
use crate::show::{Column, Shown};

const ONE: &[Column] = &[
    Column::text("id"),
    Column::text("name"),
    Column::text("project"),
    Column::text("program"),
    Column::text("model"),
    Column::text("task"),
    Column::text("capabilities"),
    Column::text("rights"),
    Column::time("created_at"),
    Column::time("retired_at"),
    Column::text("revision"),
];

/// Agents.
#[derive(Subcommand)]
pub(crate) enum AgentCommand {
    /// Register an agent; its token goes into a file.
    Register(register::Register),
    /// List a project's agents that are not retired.
    List(list::List),
    /// Show one agent.
    Show(list::Show),
    /// Say that you live, and what you are at.
    Heartbeat(heartbeat::Heartbeat),
    /// Change what an agent says of itself.
    Update(change::Update),
    /// Make a new token for an agent; the old ones are good no more.
    RotateToken(change::RotateToken),
    /// Retire an agent: its history and name stay, it takes part no more.
    Retire(change::Retire),
}

impl AgentCommand {
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        match self {
            Self::Register(register) => register.run(context),
            Self::List(list) => list.run(context),
            Self::Show(show) => show.run(context),
            Self::Heartbeat(heartbeat) => heartbeat.run(context),
            Self::Update(update) => update.run(context),
            Self::RotateToken(rotate) => rotate.run(context),
            Self::Retire(retire) => retire.run(context),
        }
    }
}
