//! The options that every command takes.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap_complete::ArgValueCandidates;
use comity_domain::{AgentName, Span};
use comity_kernel::Error;
use comity_kernel::actor::IdempotencyKey;
use comity_kernel::project::ProjectRef;

use crate::parse::text;
use crate::token_file;

/// The options that every command takes.
#[derive(Args, Clone)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Globals {
    /// The data directory: the nearest `.comity` upwards, else the user's; also `COMITY_DATA`.
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// A server to call instead of the data directory's own; also `COMITY_URL`.
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// A PostgreSQL URL that replaces the embedded database; also `COMITY_DATABASE_URL`.
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) database: Option<String>,
    /// The project's key or slug: that of the current directory unless given; also `COMITY_PROJECT`.
    #[arg(long, global = true, value_name = "PROJECT",
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
    /// Takes what is not given from the environment, where an empty variable is none.
    pub(crate) fn complete(&mut self) -> Result<(), Error> {
        if self.data.is_none() {
            self.data = data_variable();
        }
        if self.url.is_none() {
            self.url = variable("COMITY_URL");
        }
        if self.project.is_none()
            && let Some(named) = variable("COMITY_PROJECT")
        {
            let named = ProjectRef::parse(named);
            let named = named.map_err(|rule| Error::invalid("COMITY_PROJECT", rule))?;
            self.project = Some(named);
        }
        Ok(())
    }

    /// Returns the options of somebody who cannot wait long, unless told how long.
    #[must_use]
    pub(crate) fn hurried(&self, patience: Span) -> Self {
        Self {
            timeout: self.timeout.or(Some(patience)),
            ..self.clone()
        }
    }

    /// Returns how long to wait, if somebody said.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        let micros = self.timeout?.micros();
        Some(Duration::from_micros(micros.unsigned_abs()))
    }
}

/// Returns a variable of the environment, unless it is empty.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Returns the data directory that the environment names, if it does.
pub(crate) fn data_variable() -> Option<PathBuf> {
    let named = std::env::var_os("COMITY_DATA").filter(|value| !value.is_empty());
    named.map(PathBuf::from)
}
