//! `comity project`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use comity_domain::{GuardAway, GuardMode, Span};
use comity_kernel::project::table::Label;
use comity_kernel::project::{EnsureProject, ListProjects, ProjectStatusQuery, UpdateProject};
use comity_kernel::{Command as _, Query as _};

use super::paging::Paging;
use crate::failure::Failure;
use crate::parse::{text, word};
use crate::place;
use crate::session::Context;
use crate::show::{Column, Shown};

const LIST: &[Column] = &[
    Column::text("id"),
    Column::text("slug"),
    Column::text("name"),
    Column::text("key"),
    Column::time("created_at"),
];

const ONE: &[Column] = &[
    Column::text("id"),
    Column::text("slug"),
    Column::text("name"),
    Column::text("key"),
    Column::text("guard_mode"),
    Column::text("guard_away"),
    Column::text("grace_ms"),
    Column::text("leases_per_agent"),
    Column::text("case_insensitive"),
    Column::time("created_at"),
    Column::text("revision"),
];

/// Projects.
#[derive(Subcommand)]
pub(crate) enum ProjectCommand {
    /// Create the project of a directory unless it exists.
    Ensure(Ensure),
    /// Change a project's settings.
    Update(Update),
    /// List projects, oldest first.
    List(List),
    /// Show how a project stands.
    Status,
}

#[derive(Args)]
pub(crate) struct Ensure {
    /// The directory; its repository's main worktree is the project.
    path: Option<PathBuf>,
    /// What people call it; the slug unless given.
    #[arg(long, value_parser = text::<Label>)]
    name: Option<Label>,
}

#[derive(Args)]
pub(crate) struct Update {
    /// What people call it.
    #[arg(long, value_parser = text::<Label>)]
    name: Option<Label>,
    /// Whether paths that differ in case only are one file.
    #[arg(long, value_name = "BOOL")]
    case_insensitive: Option<bool>,
    /// What the Git guard does about a conflict.
    #[arg(long, value_name = "MODE", value_parser = word::<GuardMode>(&["block", "warn", "off"]))]
    guard_mode: Option<GuardMode>,
    /// What the Git guard does when it cannot ask the server.
    #[arg(long, value_name = "MODE", value_parser = word::<GuardAway>(&["block", "warn"]))]
    guard_away: Option<GuardAway>,
    /// How long a holder must be silent before any agent may force its lease.
    #[arg(long, value_name = "TIME", value_parser = text::<Span>)]
    grace: Option<Span>,
    /// How many active leases one agent may have.
    #[arg(long, value_name = "N")]
    leases_per_agent: Option<i64>,
    /// The revision you read; another one now is refused.
    #[arg(long, value_name = "N")]
    expected_revision: Option<i64>,
}

#[derive(Args)]
pub(crate) struct List {
    #[command(flatten)]
    paging: Paging,
}

impl ProjectCommand {
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        match self {
            Self::Ensure(ensure) => ensure.run(context),
            Self::Update(update) => update.run(context),
            Self::List(list) => list.run(context),
            Self::Status => status(context),
        }
    }
}

impl Ensure {
    fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = EnsureProject {
            key: match &self.path {
                Some(path) => place::key_of(path)?,
                None => place::current_project()?,
            },
            name: self.name.clone(),
        };
        let answer = context.session()?.call(EnsureProject::NAME, &request)?;
        Ok(Shown::entity(answer, "project", ONE))
    }
}

impl Update {
    fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let request = UpdateProject {
            project: session.project()?,
            name: self.name.clone(),
            case_insensitive: self.case_insensitive,
            guard_mode: self.guard_mode,
            guard_away: self.guard_away,
            grace: self.grace,
            leases_per_agent: self.leases_per_agent,
            expected_revision: self.expected_revision,
        };
        let answer = session.call(UpdateProject::NAME, &request)?;
        Ok(Shown::entity(answer, "project", ONE))
    }
}

impl List {
    fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = ListProjects {
            limit: self.paging.limit(),
            after: self.paging.after(),
        };
        let answer = context.session()?.call(ListProjects::NAME, &request)?;
        Ok(Shown::table(answer, LIST))
    }
}

fn status(context: &Context<'_>) -> Result<Shown, Failure> {
    let session = context.session()?;
    let request = ProjectStatusQuery {
        project: session.project()?,
    };
    let answer = session.call(ProjectStatusQuery::NAME, &request)?;
    Ok(Shown::entity(answer, "project", ONE))
}
