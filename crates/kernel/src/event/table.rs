//! Events with what decides who sees them: reading rows.

use std::collections::BTreeSet;

use comity_domain::Seq;
use comity_domain::limits::FEED_PAGE_BYTES_MAX;

use super::entry::Entry;
use crate::log::{Recorded, table};
use crate::params;
use crate::store::StoreError;
use crate::tx::Read;

/// Those whom the other readers of a message must not hear of: message and box.
pub(super) type Hidden = BTreeSet<(i64, i64)>;

/// Reads the events after `since`, at most `rows` and not many bytes, but always the next one.
pub(super) fn entries(
    read: &mut impl Read,
    since: Seq,
    rows: i64,
) -> Result<Vec<Entry>, StoreError> {
    let rows = table::fitting(read, since, rows, FEED_PAGE_BYTES_MAX)?;
    if rows == 0 {
        return Ok(Vec::new());
    }
    let page = table::page(read, since, rows)?;
    let hidden = match page.last() {
        Some(last) if page.iter().any(marks_mail) => hidden(read, since, last.seq)?,
        _ => Hidden::new(),
    };
    let seen = |recorded| Entry::new(recorded, &hidden);
    Ok(page.into_iter().map(seen).collect())
}

fn marks_mail(recorded: &Recorded) -> bool {
    matches!(
        recorded.kind.as_str(),
        "message_read" | "message_acknowledged"
    )
}

/// Finds the bcc recipients of the messages that were read or acknowledged in a part of the log.
fn hidden(read: &mut impl Read, since: Seq, until: Seq) -> Result<Hidden, StoreError> {
    let pairs = read.rows(
        "select r.message_id, r.agent_id from event e
         join recipient r on r.message_id = e.subject_id and r.delivery = 'bcc'
         where e.seq > ?1 and e.seq <= ?2
             and e.kind in ('message_read', 'message_acknowledged')",
        params![since, until],
        |row| Ok((row.take()?, row.take()?)),
    )?;
    Ok(pairs.into_iter().collect())
}
