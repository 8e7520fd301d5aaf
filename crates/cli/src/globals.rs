//! The options that every command takes.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap_complete::ArgValueCandidates;
use comity_domain::{AgentName, Span};
use comity_kernel::actor::IdempotencyKey;
use comity_kernel::project::ProjectRef;

use crate::parse::text;
use crate::token_file;

/// The options that every command takes.
#[derive(Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Globals {
    /// The data directory: the nearest `.comity` upwards, else the user's.
    #[arg(long, global = true, value_name = "DIR", env = "COMITY_DATA")]
    pub(crate) data: Option<PathBuf>,
    /// A server to call instead of the data directory's own.
    #[arg(
        long,
        global = true,
        value_name = "URL",
        env = "COMITY_URL",
        hide_env_values = true
    )]
    pub(crate) url: Option<String>,
    /// A PostgreSQL URL that replaces the embedded database; also `COMITY_DATABASE_URL`.
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) database: Option<String>,
    /// The project's key or slug: that of the current directory unless given.
    #[arg(long, global = true, value_name = "PROJECT", env = "COMITY_PROJECT",
        value_parser = text::<ProjectRef>, add = ArgValueCandidates::new(token_file::projects))]
    pub(crate) project: Option<ProjectRef>,
    /// Act as this agent, with the token in its file; also `COMITY_AS`.
    #[arg(id = "as", long, global = true, value_name = "AGENT", conflicts_with = "operator",
        value_parser = AgentName::parse, add = ArgValueCandidates::new(token_file::agents))]
    pub(crate) agent: Option<AgentName>,
    /// Act as the operator, by right of the data directory.
    #[arg(long, global = true)]
    pub(crate) operator: bool,
    /// Print one JSON document.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print nothing but errors.
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// How long to wait for an answer, such as `90s` or `5m`: 30 s unless given, and for long work no limit.
    #[arg(long, global = true, value_name = "TIME", value_parser = text::<Span>)]
    timeout: Option<Span>,
    /// An idempotency key: repeated with it, a command takes effect once.
    #[arg(long, global = true, value_name = "IDEMPOTENCY", value_parser = text::<IdempotencyKey>)]
    pub(crate) key: Option<IdempotencyKey>,
}

impl Globals {
    /// Returns how long to wait, if somebody said.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        let micros = self.timeout?.micros();
        Some(Duration::from_micros(micros.unsigned_abs()))
    }
}
