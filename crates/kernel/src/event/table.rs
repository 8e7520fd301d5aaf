//! Events with what decides who sees them: reading rows.

use std::collections::BTreeSet;

use comity_domain::Seq;
use comity_domain::limits::FEED_PAGE_BYTES_MAX;

use super::entry::Entry;
use super::filter::Filter;
use crate::log::{Recorded, table};
use crate::params;
use crate::store::{Row, StoreError};
use crate::tx::Read;

/// Those whom the other readers of a message must not hear of: message and box.
pub(super) type Hidden = BTreeSet<(i64, i64)>;

/// Reads the events between two places, at most `rows` and not many bytes, but always the next one.
///
/// What of the filter the database can tell quickly it does; the rest is matched afterwards.
pub(super) fn entries(
    read: &mut impl Read,
    filter: &Filter,
    (since, until): (Seq, Seq),
    rows: usize,
) -> Result<Vec<Entry>, StoreError> {
    let rows = i64::try_from(rows).unwrap_or(i64::MAX);
    let rows = fitting(read, filter, (since, until), rows)?;
    if rows == 0 {
        return Ok(Vec::new());
    }
    let page = page(read, filter, (since, until), rows)?;
    let hidden = match page.last() {
        Some(last) if page.iter().any(marks_mail) => hidden(read, since, last.seq)?,
        _ => Hidden::new(),
    };
    let seen = |recorded| Entry::new(recorded, &hidden);
    Ok(page.into_iter().map(seen).collect())
}

/// Returns the last of the next `rows` events, if there are any.
pub(super) fn window(
    read: &mut impl Read,
    since: Seq,
    rows: i64,
) -> Result<Option<Seq>, StoreError> {
    read.one(
        "select max(seq) from (
            select seq from event where seq > ?1 order by seq limit cast(?2 as bigint)) w",
        params![since, rows],
        Row::take,
    )
}

/// Selects from a part of the log what is of the filter's project, subject and run.
macro_rules! in_the_window {
    (sizes, $run:literal) => {
        in_the_window!("coalesce(cast(octet_length(payload) as bigint), 0)", $run)
    };
    (whole, $run:literal) => {
        in_the_window!(
            "seq, at, v, kind, project, actor, subject_type, subject_id, run, correlation,
                payload_sha256, payload, hash",
            $run
        )
    };
    ($columns:literal, $run:literal) => {
        concat!(
            "select ",
            $columns,
            " from event where seq > ?1 and seq <= ?2
                and (cast(?3 as bigint) is null or project = ?3)
                and (cast(?4 as text) is null or (subject_type = ?4 and subject_id = ?5))",
            $run,
            " order by seq limit cast(?6 as bigint)"
        )
    };
}

/// Counts how many of the next events may be read together.
fn fitting(
    read: &mut impl Read,
    filter: &Filter,
    (since, until): (Seq, Seq),
    rows: i64,
) -> Result<i64, StoreError> {
    let (kind, id) = about(filter);
    let sizes = match filter.run {
        None => read.rows(
            in_the_window!(sizes, ""),
            params![since, until, filter.project, kind, id, rows],
            Row::take::<i64>,
        )?,
        Some(run) => read.rows(
            in_the_window!(sizes, " and run = ?7"),
            params![since, until, filter.project, kind, id, rows, run],
            Row::take::<i64>,
        )?,
    };
    Ok(table::how_many_fit(&sizes, FEED_PAGE_BYTES_MAX))
}

fn page(
    read: &mut impl Read,
    filter: &Filter,
    (since, until): (Seq, Seq),
    rows: i64,
) -> Result<Vec<Recorded>, StoreError> {
    let (kind, id) = about(filter);
    match filter.run {
        None => read.rows(
            in_the_window!(whole, ""),
            params![since, until, filter.project, kind, id, rows],
            table::recorded,
        ),
        Some(run) => read.rows(
            in_the_window!(whole, " and run = ?7"),
            params![since, until, filter.project, kind, id, rows, run],
            table::recorded,
        ),
    }
}

fn about(filter: &Filter) -> (Option<&'static str>, Option<i64>) {
    let subject = filter.subject.as_ref();
    (
        subject.map(|about| about.kind.as_str()),
        subject.map(|about| about.id),
    )
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
