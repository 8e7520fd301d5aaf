//! `comity restore`.

use std::path::PathBuf;

use clap::Args;
use comity_archive::store;
use comity_kernel::Error;
use comity_kernel::datadir::DataDir;
use serde_json::json;

use crate::failure::Failure;
use crate::output::{self, Form};
use crate::session::Context;
use crate::show::Shown;
use crate::who;

/// Fills an empty data directory from an archive.
#[derive(Args)]
pub(crate) struct Restore {
    /// The archive: a repository that `comity serve` kept.
    #[arg(long, value_name = "PATH")]
    from_archive: PathBuf,
}

impl Restore {
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        who::must_be_operator(context.globals)?;
        let data = DataDir::open(&context.directory)?;
        let _hold = data.hold_for_server()?;
        let mut options = context.config.options(data.database())?;
        options.backups = Some(data.backups()?);
        let bar = output::bar(Form::of(context.globals), "events");
        let restored = store::restore(&self.from_archive, &options, |at, through| {
            output::advance(&bar, at, through);
        });
        drop(bar);
        let seq = restored.map_err(|error| Error::Unusable {
            what: error.to_string(),
        })?;
        let answer = json!({ "restored": { "seq": seq, "data": context.directory } });
        Ok(Shown::entity(answer, "restored", &[]))
    }
}
