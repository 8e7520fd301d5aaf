//! The statements of the log: append, move the head, read a page.

use comity_domain::limits::LOG_PAGE_BYTES_MAX;
use comity_domain::{LeaseTime, RunId, Seq};

use super::line::{Envelope, Recorded};
use crate::params;
use crate::store::{Row, Rows, Session, StoreError};
use crate::tx::Read;

/// Appends one event.
pub(crate) fn append(
    session: &mut dyn Session,
    envelope: &Envelope<'_>,
    payload_sha256: &[u8; 32],
    payload: &str,
    hash: &[u8; 32],
) -> Result<(), StoreError> {
    session.write(
        "insert into event (seq, at, v, kind, project, actor, subject_type, subject_id, run,
            correlation, payload_sha256, payload, hash)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        params![
            envelope.seq,
            envelope.at,
            envelope.v,
            envelope.kind,
            envelope.project,
            envelope.actor,
            envelope.subject.kind,
            envelope.subject.id,
            envelope.run,
            envelope.correlation,
            payload_sha256,
            payload,
            hash,
        ],
        Rows::Exactly(1),
    )
}

/// Moves the head to what was appended and leaves the lease clock's mark: once per transaction.
pub(crate) fn move_head(
    session: &mut dyn Session,
    seq: Seq,
    hash: &[u8; 32],
    lease: LeaseTime,
    anchor_us: i64,
    anchor_of: &str,
) -> Result<(), StoreError> {
    session.write(
        "update log_head set seq = ?1, hash = ?2, lease_us = ?3, anchor_us = ?4, anchor_of = ?5",
        params![seq, hash, lease, anchor_us, anchor_of],
        Rows::Exactly(1),
    )
}

/// Reads one event.
pub fn at(read: &mut impl Read, seq: Seq) -> Result<Option<Recorded>, StoreError> {
    read.row(
        "select seq, at, v, kind, project, actor, subject_type, subject_id, run, correlation,
            payload_sha256, payload, hash
         from event where seq = ?1",
        params![seq],
        recorded,
    )
}

/// Reads up to `limit` events after `since`, in order.
pub fn page(read: &mut impl Read, since: Seq, limit: i64) -> Result<Vec<Recorded>, StoreError> {
    read.rows(
        "select seq, at, v, kind, project, actor, subject_type, subject_id, run, correlation,
            payload_sha256, payload, hash
         from event where seq > ?1 order by seq limit cast(?2 as bigint)",
        params![since, limit],
        recorded,
    )
}

/// Reads up to `limit` events of a run after `since`, as far as `until`, in order.
pub fn of_run(
    read: &mut impl Read,
    run: RunId,
    since: Seq,
    until: Seq,
    limit: i64,
) -> Result<Vec<Recorded>, StoreError> {
    read.rows(
        "select seq, at, v, kind, project, actor, subject_type, subject_id, run, correlation,
            payload_sha256, payload, hash
         from event where run = ?1 and seq > ?2 and seq <= ?3
         order by seq limit cast(?4 as bigint)",
        params![run, since, until, limit],
        recorded,
    )
}

/// Reads events after `since` as [`page`] does, but not many bytes of them at once.
pub fn bounded_page(
    read: &mut impl Read,
    since: Seq,
    limit: i64,
) -> Result<Vec<Recorded>, StoreError> {
    let rows = fitting(read, since, limit, LOG_PAGE_BYTES_MAX)?;
    page(read, since, rows)
}

/// Reads the last events of a run as far as `until`, in order, each as `map` makes of it.
pub fn last_of_run<T>(
    read: &mut impl Read,
    run: RunId,
    until: Seq,
    limit: i64,
    mut map: impl FnMut(Recorded) -> T,
) -> Result<Vec<T>, StoreError> {
    let mut last = read.rows(
        "select seq, at, v, kind, project, actor, subject_type, subject_id, run, correlation,
            payload_sha256, payload, hash
         from event where run = ?1 and seq <= ?2
         order by seq desc limit cast(?3 as bigint)",
        params![run, until, limit],
        |row| Ok(map(recorded(row)?)),
    )?;
    let missing = limit - i64::try_from(last.len()).unwrap_or(limit);
    if missing > 0 {
        // Some may have been pruned since: as many as a page shows are kept.
        last.extend(read.rows(
            "select seq, at, v, kind, project, actor, subject_type, subject_id, run, correlation,
                payload_sha256, payload, hash
             from pruned_event where run = ?1 and seq <= ?2
             order by seq desc limit cast(?3 as bigint)",
            params![run, until, missing],
            |row| Ok(map(recorded(row)?)),
        )?);
    }
    last.reverse();
    Ok(last)
}

/// Counts the events of a run as far as `until`, up to `max`.
pub fn count_of_run(
    read: &mut impl Read,
    run: RunId,
    until: Seq,
    max: i64,
) -> Result<i64, StoreError> {
    let counted: i64 = read.one(
        "select count(*) from (
            select seq from event where run = ?1 and seq <= ?2 limit cast(?3 as bigint)) counted",
        params![run, until, max],
        Row::take,
    )?;
    let pruned = pruned_of_run(read, run)?;
    Ok(counted.saturating_add(pruned).min(max))
}

/// Counts the events of a run that were pruned.
pub fn pruned_of_run(read: &mut impl Read, run: RunId) -> Result<i64, StoreError> {
    let pruned: Option<i64> = read.row(
        "select events from pruned_run where run = ?1",
        params![run],
        Row::take,
    )?;
    Ok(pruned.unwrap_or(0))
}

/// The kinds of event that say what a run is for, where it is and how it stands.
pub const STEERING: [&str; 9] = [
    "run_created",
    "run_updated",
    "run_advanced",
    "gate_overridden",
    "run_rolled_back",
    "run_paused",
    "run_resumed",
    "run_cancelled",
    "run_failed",
];

/// Reads the newest event of a run of one of the [`STEERING`] kinds, as far as `until`.
pub fn newest_steering(
    read: &mut impl Read,
    run: RunId,
    kind: &str,
    until: Seq,
) -> Result<Option<Recorded>, StoreError> {
    // The list is that of the index, which is used only where it is repeated.
    let newest = read.row(
        "select seq, at, v, kind, project, actor, subject_type, subject_id, run, correlation,
            payload_sha256, payload, hash
         from event where run = ?1 and kind = ?2 and seq <= ?3 and kind in
            ('run_created', 'run_updated', 'run_advanced', 'gate_overridden', 'run_rolled_back',
            'run_paused', 'run_resumed', 'run_cancelled', 'run_failed')
         order by seq desc limit 1",
        params![run, kind, until],
        recorded,
    )?;
    if newest.is_some() {
        return Ok(newest);
    }
    read.row(
        "select seq, at, v, kind, project, actor, subject_type, subject_id, run, correlation,
            payload_sha256, payload, hash
         from pruned_event where run = ?1 and kind = ?2 and seq <= ?3
         order by seq desc limit 1",
        params![run, kind, until],
        recorded,
    )
}

/// Counts how many of the next events may be read together: up to `rows`, and `bytes_max` of
/// payload unless the first alone has more.
pub fn fitting(
    read: &mut impl Read,
    since: Seq,
    rows: i64,
    bytes_max: i64,
) -> Result<i64, StoreError> {
    // Most often all of them may; that is one row instead of one for each.
    let (all, bytes) = read.one(
        "select count(*), coalesce(cast(sum(size) as bigint), 0) from (
            select octet_length(payload) as size
            from event where seq > ?1 order by seq limit cast(?2 as bigint)) next",
        params![since, rows],
        |row| Ok((row.take::<i64>()?, row.take::<i64>()?)),
    )?;
    if bytes <= bytes_max {
        return Ok(all);
    }
    let sizes = read.rows(
        "select coalesce(cast(octet_length(payload) as bigint), 0)
         from event where seq > ?1 order by seq limit cast(?2 as bigint)",
        params![since, rows],
        Row::take::<i64>,
    )?;
    Ok(how_many_fit(&sizes, bytes_max))
}

/// Counts how many of these sizes fit together; the first one always does.
pub(crate) fn how_many_fit(sizes: &[i64], bytes_max: i64) -> i64 {
    let mut bytes = 0;
    let fits = sizes.iter().take_while(|size| {
        let first = bytes == 0;
        bytes += **size;
        first || bytes <= bytes_max
    });
    i64::try_from(fits.count()).unwrap_or(i64::MAX)
}

/// Reads the columns of an event, in the order in which every statement here names them.
pub(crate) fn recorded(row: &mut Row) -> Result<Recorded, StoreError> {
    Ok(Recorded {
        seq: row.take()?,
        at: row.take()?,
        v: row.take()?,
        kind: row.take()?,
        project: row.take()?,
        actor: row.take()?,
        subject_type: row.take()?,
        subject_id: row.take()?,
        run: row.take()?,
        correlation: row.take()?,
        payload_sha256: row.take()?,
        payload: row.take()?,
        hash: row.take()?,
    })
}
