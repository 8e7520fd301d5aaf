//! Reads the log for the program itself, which then shows each caller its part.

use comity_domain::Seq;
use comity_domain::limits::PAGE_MAX;

use super::entry::Entry;
use super::filter::Filter;
use super::{pruned, table};
use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::query::Query;
use crate::tx::{Read as _, Snapshot};

/// Asks for the next events after a place in the log, as many as make a page.
#[derive(Clone, Copy, Debug)]
pub struct LogAfter {
    /// The place, exclusive.
    pub since: Seq,
}

impl Query for LogAfter {
    const NAME: &'static str = "log_after";
    const WHO: &'static [Party] = &[];
    type Answer = Vec<Entry>;

    fn run(&self, _actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Vec<Entry>, Error> {
        pruned::must_go_on(snapshot, self.since)?;
        let until = snapshot.head();
        let rows = PAGE_MAX as usize;
        Ok(table::entries(
            snapshot,
            &Filter::default(),
            (self.since, until),
            rows,
        )?)
    }
}
