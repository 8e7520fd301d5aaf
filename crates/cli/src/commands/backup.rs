//! `comity backup`.

use std::path::PathBuf;

use clap::Args;
use comity_kernel::Error;
use serde_json::json;

use crate::output;
use crate::place::Place;

/// Copies the database.
#[derive(Args)]
pub(crate) struct Backup {
    /// Where to; a numbered name beside it if it exists.
    to: Option<PathBuf>,
}

impl Backup {
    pub(crate) fn run(&self, place: &Place) -> Result<(), Error> {
        let embedded = place.embedded()?;
        let target = match &self.to {
            Some(to) => to.clone(),
            None => embedded.data.backups()?.join("comity.db"),
        };
        let written = embedded.kernel.backup(&target)?;
        output::answer(&json!({ "backup": written }));
        Ok(())
    }
}
