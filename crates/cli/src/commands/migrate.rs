//! `comity migrate`.

use std::sync::Arc;

use clap::Args;
use comity_archive::store::Past;
use comity_kernel::datadir::DataDir;
use comity_kernel::transfer::replay_log;
use comity_kernel::{Error, Options};
use serde_json::json;

use crate::failure::Failure;
use crate::output::{self, Form};
use crate::session::Context;
use crate::show::Shown;
use crate::who;

/// Moves the workspace to another database.
#[derive(Args)]
pub(crate) struct Migrate {
    /// Where to: a `postgres://` URL, or `sqlite` for the data directory's own file.
    #[arg(long, value_name = "URL")]
    to: String,
}

impl Migrate {
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        who::must_be_operator(context.globals)?;
        let data = DataDir::open(&context.directory)?;
        // Nobody may write meanwhile; what comes later would be left behind.
        let _hold = data.hold_for_server()?;
        let mut source = context.config.options(data.database())?;
        source.backups = Some(data.backups()?);
        source.history = Some(Arc::new(Past::of(data.archive())));
        let to_file = self.to == "sqlite";
        if to_file != context.config.has_database_url() {
            let rule = "must be the other engine: a `postgres://` URL, or `sqlite` where one is configured";
            return Err(Error::invalid("--to", rule).into());
        }
        let mut target = if to_file {
            Options::sqlite(data.database())
        } else {
            Options::postgres(&self.to)?
        };
        target.backups.clone_from(&source.backups);
        let bar = output::bar(Form::of(context.globals), "events");
        let moved = replay_log(&source, &target, |at, head| output::advance(&bar, at, head));
        drop(bar);
        let moved = moved?;
        let answer = json!({ "migrated": { "seq": moved.seq, "state_hash": moved.state_hash } });
        output::explain(&[next(to_file)]);
        Ok(Shown::entity(answer, "migrated", &[]))
    }
}

fn next(to_file: bool) -> String {
    let place = "`[server] database` of `comity.toml`, or COMITY_DATABASE_URL";
    if to_file {
        return format!("next: remove the URL from {place}; the old schema is as it was");
    }
    format!("next: put the URL into {place}; `comity.db` is as it was")
}
