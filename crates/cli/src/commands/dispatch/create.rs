//! `comity dispatch create`.

use std::path::PathBuf;

use clap::Args;
use comity_domain::limits::PROMPT_BYTES_MAX;
use comity_domain::{DispatchId, RunId, Span, Text};
use comity_kernel::dispatch::{CreateDispatch, Group};
use comity_kernel::run::AgentKind;
use comity_kernel::{Command as _, Error};

use super::changed;
use crate::commands::source;
use crate::failure::Failure;
use crate::parse::{json, text};
use crate::session::Context;
use crate::show::Shown;

/// Hands out work.
#[derive(Args)]
#[command(
    after_help = "Example: comity dispatch create reviewer 'Review the parser.' --run 7 --deadline 1h --group review"
)]
pub(crate) struct Create {
    /// The kind of agent that is to do it, as workers call themselves.
    #[arg(value_name = "KIND", value_parser = text::<AgentKind>)]
    agent_kind: AgentKind,
    /// What is to be done; `-` reads it from stdin.
    #[arg(
        required_unless_present = "prompt_file",
        conflicts_with = "prompt_file"
    )]
    prompt: Option<String>,
    /// A file that says what is to be done.
    #[arg(long, value_name = "FILE")]
    prompt_file: Option<PathBuf>,
    /// The run it is for; it is cancelled with it.
    #[arg(id = "of", long = "run", value_name = "RUN", value_parser = json::<RunId>)]
    run: Option<RunId>,
    /// How long it may take from now on, at most 30 days; then it is timed out.
    #[arg(long, value_name = "TIME", value_parser = text::<Span>)]
    deadline: Option<Span>,
    /// A dispatch that must be completed before; again for more, or with commas.
    #[arg(long, value_name = "DISPATCH", value_delimiter = ',', value_parser = json::<DispatchId>)]
    depends_on: Vec<DispatchId>,
    /// Those of higher priority are claimed before, -1000 to 1000.
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    priority: Option<i64>,
    /// What you count it with; `dispatch group` sums a group up.
    #[arg(long, value_parser = text::<Group>)]
    group: Option<Group>,
}

impl Create {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let request = CreateDispatch {
            project: session.project()?,
            run: self.run,
            agent_kind: self.agent_kind.clone(),
            prompt: self.prompt()?,
            deadline: self.deadline,
            depends_on: self.depends_on.clone(),
            priority: self.priority,
            group: self.group.clone(),
        };
        Ok(changed(session.call(CreateDispatch::NAME, &request)?))
    }

    fn prompt(&self) -> Result<Text<PROMPT_BYTES_MAX>, Error> {
        let prompt = match (&self.prompt, &self.prompt_file) {
            (_, Some(file)) => source::file("--prompt-file", file, PROMPT_BYTES_MAX)?,
            (given, None) => {
                let given = given.as_deref().unwrap_or_default();
                source::text("PROMPT", given, PROMPT_BYTES_MAX)?
            }
        };
        Text::parse(prompt).map_err(|rule| Error::invalid("PROMPT", rule))
    }
}
