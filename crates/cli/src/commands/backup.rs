//! `comity backup`.

use std::path::PathBuf;

use clap::Args;
use comity_kernel::doctor;

use crate::failure::Failure;
use crate::output::{self, Form};
use crate::session::Context;
use crate::show::Shown;

/// Copies the database.
#[derive(Args)]
pub(crate) struct Backup {
    /// Where to, a numbered name beside it if it exists: the data directory's `backups` unless
    /// given. With `--url` a plain name in there.
    to: Option<PathBuf>,
}

impl Backup {
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let here = |to: &PathBuf| match context.globals.url {
            // The path is the server's, not ours to resolve.
            Some(_) => Ok(to.clone()),
            None => std::path::absolute(to),
        };
        let to = self.to.as_ref().map(here).transpose();
        let to = to.map_err(|error| Failure::unusable(format!("`TO` is no path: {error}")))?;
        let session = context.session()?;
        let spinner = output::spinner(Form::of(context.globals), "copying the database");
        let answer = session.call("backup", &doctor::Backup { to })?;
        drop(spinner);
        Ok(Shown::entity(answer, "", &[]))
    }
}
