//! `comity reserve`.

use std::path::PathBuf;

use clap::Args;
use comity_domain::{LeaseMode, Pattern, RunId, Span, Ttl};
use comity_kernel::reservation::{Reason, ReserveFiles};
use comity_kernel::{Command as _, Error};

use super::in_line;
use crate::failure::Failure;
use crate::ground::Ground;
use crate::parse::{json, text};
use crate::session::Context;
use crate::show::{Shown, View, leases};

/// Takes leases on files.
#[derive(Args)]
#[command(
    after_help = "All of it is granted or nothing. Reserving the same again renews it.\n\
    It ends with 1 if somebody else holds any of it, and shows who.\n\
    Example: comity reserve src/login.rs --pattern 'tests/login_*' --reason 'fix the form' --ttl 1h"
)]
pub(crate) struct Reserve {
    /// Files, as you would name them here; a directory is everything below it. Nothing is expanded.
    #[arg(value_name = "PATH", required_unless_present = "pattern")]
    paths: Vec<PathBuf>,
    /// A pattern from the project's root: `*` and `?` in a name, `**` across, `[a-z]`, `{a,b}`.
    #[arg(long, value_parser = text::<Pattern>)]
    pattern: Vec<Pattern>,
    /// Share it with others who share: nobody writes.
    #[arg(long)]
    shared: bool,
    /// How long, such as `45m`: 30 minutes unless given, at most 24 h.
    #[arg(long, value_name = "TIME", value_parser = text::<Ttl>)]
    ttl: Option<Ttl>,
    /// Why, for whoever wants the same.
    #[arg(long, value_parser = text::<Reason>)]
    reason: Option<Reason>,
    /// The run it is for: the leases end with it.
    #[arg(id = "of", long = "run", value_name = "RUN", value_parser = json::<RunId>)]
    run: Option<RunId>,
    /// How long to wait for others to let go, at most `60s`.
    #[arg(long, value_name = "TIME", value_parser = text::<Span>)]
    wait: Option<Span>,
}

impl Reserve {
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let ground = Ground::of(context.globals)?;
        let request = self.request(&ground)?;
        let answer = in_line::insist(context, self.wait, |session, wait| {
            let request = ReserveFiles {
                wait,
                ..request.clone()
            };
            session.call(ReserveFiles::NAME, &request)
        });
        let answer = answer.map_err(|failure| {
            let next = leases::next_step(&failure.body);
            ground.advise(failure.advised(next))
        })?;
        let text = leases::held(&answer);
        Ok(Shown::new(answer, View::Text(text)))
    }

    fn request(&self, ground: &Ground) -> Result<ReserveFiles, Error> {
        Ok(ReserveFiles {
            project: Some(ground.project.clone()),
            paths: ground.paths(&self.paths)?,
            patterns: self.pattern.clone(),
            mode: self.shared.then_some(LeaseMode::Shared),
            ttl: self.ttl,
            reason: self.reason.clone(),
            run: self.run,
            wait: None,
            // What existing clients send over HTTP says nothing that is not said above.
            path_pattern: None,
            exclusive: None,
            ttl_minutes: None,
            agent_id: None,
            if_not_conflict: None,
        })
    }
}
