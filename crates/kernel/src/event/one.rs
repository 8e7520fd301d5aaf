//! Reads one event of the log.

use comity_domain::Seq;

use super::entry::Entry;
use super::filter::Filter;
use super::table;
use crate::store::StoreError;
use crate::tx::Read;

/// Returns the event at a place, unless it is not in the log any more.
pub(crate) fn one(read: &mut impl Read, seq: Seq) -> Result<Option<Entry>, StoreError> {
    let before = Seq::new(seq.get() - 1);
    let found = table::entries(read, &Filter::default(), (before, seq), 1)?;
    Ok(found.into_iter().next())
}
