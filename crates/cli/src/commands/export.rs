//! `comity export`.

use std::path::PathBuf;

use clap::Args;
use comity_kernel::archive;
use comity_kernel::project::ProjectRef;

use crate::failure::Failure;
use crate::output::{self, Form};
use crate::parse::text;
use crate::place;
use crate::session::Context;
use crate::show::Shown;

/// Writes a project's mail as pages for a browser.
#[derive(Args)]
#[command(
    after_help = "The pages need no server and no network: open `index.html`, or hand the directory \
    on.\nWhoever has it reads every message of the project; blind copies are not named in it.\n\
    Example: comity export --to /tmp/mail && open /tmp/mail/index.html"
)]
pub(crate) struct Export {
    /// The project's key, slug or directory; that of the current directory unless given.
    #[arg(value_name = "PROJECT", value_parser = text::<ProjectRef>)]
    exported: Option<ProjectRef>,
    /// A new directory: one in the data directory's `exports` unless given. With `--url` a plain
    /// name in there.
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
}

impl Export {
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let here = |to: &PathBuf| match context.globals.url {
            // The path is the server's, not ours to resolve.
            Some(_) => Ok(to.clone()),
            None => std::path::absolute(to),
        };
        let to = self.to.as_ref().map(here).transpose();
        let to = to.map_err(|error| Failure::unusable(format!("`--to` is no path: {error}")))?;
        let session = context.session()?;
        let project = match &self.exported {
            Some(named) => Some(place::named_project(named)?),
            None => session.project()?,
        };
        let spinner = output::spinner(Form::of(context.globals), "writing the pages");
        let answer = session.call("export", &archive::Export { project, to })?;
        drop(spinner);
        Ok(Shown::entity(answer, "", &[]))
    }
}
