//! Reads what somebody follows of the log: one function for feeds, lists and consumers.

use comity_domain::Seq;
use comity_domain::limits::{FEED_PAGE_BYTES_MAX, LOOKED_AT_MAX, PAGE_MAX};

use super::entry::Entry;
use super::sight::View;
use super::watch::Watch;
use super::{pruned, table};
use crate::error::Error;
use crate::tx::Read;

/// A part of the log as somebody sees it.
pub(crate) struct Looked {
    /// What is seen of it, in order, and how much of each.
    pub(crate) seen: Vec<(Entry, View)>,
    /// How far it goes, seen or not.
    pub(crate) through: Seq,
    /// Whether the log goes on behind it.
    pub(crate) more: bool,
}

/// Looks at the events behind a place until enough are seen or enough were looked at.
///
/// However few match, it ends: whoever wants more goes on from where it came to.
pub(crate) fn look(
    read: &mut impl Read,
    watch: &Watch,
    since: Seq,
    limit: usize,
) -> Result<Looked, Error> {
    pruned::must_go_on(read, since)?;
    let head = read.head();
    let until = match watch.filter().run {
        // An index has the run's events together.
        Some(_) => head,
        None => table::window(read, since, LOOKED_AT_MAX)?.unwrap_or(head),
    };
    let (mut seen, mut at) = (Vec::new(), since);
    let (mut looked, mut bytes) = (0, 0);
    while at < until
        && seen.len() < limit
        && looked < LOOKED_AT_MAX
        && bytes < FEED_PAGE_BYTES_MAX.unsigned_abs()
    {
        let rows = (limit - seen.len()).clamp(50, PAGE_MAX as usize);
        let page = table::entries(read, watch.filter(), (at, until), rows)?;
        if page.is_empty() {
            at = until;
        }
        for entry in page {
            if seen.len() == limit {
                break;
            }
            at = entry.seq();
            looked += 1;
            if let Some(view) = watch.view(&entry) {
                bytes += entry.bytes() as u64;
                seen.push((entry, view));
            }
        }
    }
    Ok(Looked {
        seen,
        through: at,
        more: at < head,
    })
}
