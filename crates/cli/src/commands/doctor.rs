//! `comity doctor`.

use clap::Args;
use comity_kernel::Error;

use crate::output;
use crate::place::Place;

/// Verifies the database.
#[derive(Args)]
pub(crate) struct Doctor {}

impl Doctor {
    pub(crate) fn run(&self, place: &Place) -> Result<(), Error> {
        let Self {} = self;
        let embedded = place.embedded()?;
        let findings = embedded.kernel.doctor(&embedded.data.backups()?)?;
        output::answer(&serde_json::to_value(&findings)?);
        if findings.ok {
            return Ok(());
        }
        Err(Error::Damaged {
            what: "the database does not agree with itself".to_owned(),
        })
    }
}
