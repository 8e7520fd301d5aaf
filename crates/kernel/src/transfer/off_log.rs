//! Copies what is off the log: answers, bytes, and where archives, consumers and hooks stand.
//! Presence stays behind, and who tells the hooks.

use super::in_transaction;
use crate::error::Error;
use crate::params;
use crate::store::{Param, Row, Rows, StoreError, Value, WriteEngine};
use crate::tx::Read;

/// A table, how it is read whole, and how a row of it is written.
const TABLES: [(&str, &str); 8] = [
    (
        "select owner, sha256, bytes from blob_owner",
        "insert into blob_owner (owner, sha256, bytes) values (?1, ?2, ?3)
         on conflict (owner, sha256) do nothing",
    ),
    (
        "select credential, operation, key, request_sha256, answer, seq, lease_us from idempotency",
        "insert into idempotency
            (credential, operation, key, request_sha256, answer, seq, lease_us)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7) on conflict (credential, operation, key) do nothing",
    ),
    (
        "select id, through, moved_at from archive",
        "insert into archive (id, through, moved_at) values (?1, ?2, ?3) on conflict (id) do nothing",
    ),
    (
        "select hook_id, through, secret, moved_at from hook_cursor",
        "insert into hook_cursor (hook_id, through, secret, moved_at) values (?1, ?2, ?3, ?4)
         on conflict (hook_id) do nothing",
    ),
    (
        "select hook_id, seq, subject_type, subject_id, attempts, next_lease_us, last_error, dead_at
         from hook_delivery",
        "insert into hook_delivery (hook_id, seq, subject_type, subject_id, attempts,
            next_lease_us, last_error, dead_at)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) on conflict (hook_id, seq) do nothing",
    ),
    (
        "select archive_id, last_seq, first_seq from archive_commit",
        "insert into archive_commit (archive_id, last_seq, first_seq) values (?1, ?2, ?3)
         on conflict (archive_id, last_seq) do nothing",
    ),
    (
        "select archive_id, seq, path, reason, added_at from quarantine",
        "insert into quarantine (archive_id, seq, path, reason, added_at)
         values (?1, ?2, ?3, ?4, ?5) on conflict (archive_id, seq, path) do nothing",
    ),
    (
        "select consumer_id, placed_seq, seq, document, acked_at, seen_at, seen_lease_us
         from consumer_cursor",
        "insert into consumer_cursor
            (consumer_id, placed_seq, seq, document, acked_at, seen_at, seen_lease_us)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7) on conflict (consumer_id) do nothing",
    ),
];

/// Copies everything that is off the log and not there yet.
pub(super) fn copy(source: &mut impl Read, target: &mut dyn WriteEngine) -> Result<(), Error> {
    let hashes = source.rows("select sha256 from blob", &[], Row::take::<Vec<u8>>)?;
    for hash in hashes {
        // One at a time: each may be large.
        let one = "select sha256, bytes, added_at from blob where sha256 = ?1";
        let rows = whole(source, one, params![hash.as_slice()])?;
        let insert = "insert into blob (sha256, bytes, added_at) values (?1, ?2, ?3)
             on conflict (sha256) do nothing";
        in_transaction(target, |target| {
            rows.iter().try_for_each(|row| write(target, insert, row))
        })?;
    }
    for (select, insert) in TABLES {
        let rows = whole(source, select, &[])?;
        in_transaction(target, |target| {
            rows.iter().try_for_each(|row| write(target, insert, row))
        })?;
    }
    Ok(())
}

/// Reads all columns of rows.
fn whole(
    source: &mut impl Read,
    sql: &'static str,
    bound: &[Param<'_>],
) -> Result<Vec<Vec<Value>>, StoreError> {
    let mut rows = Vec::new();
    source.each(sql, bound, &mut |row| {
        rows.push(row.rest());
        Ok(())
    })?;
    Ok(rows)
}

fn write(
    target: &mut dyn WriteEngine,
    insert: &'static str,
    row: &[Value],
) -> Result<(), StoreError> {
    let bound: Vec<_> = row.iter().map(bind).collect();
    target.write(insert, &bound, Rows::Any)
}

fn bind(value: &Value) -> Param<'_> {
    match value {
        Value::Null => Param::Null,
        Value::Int(number) => Param::Int(*number),
        Value::Real(number) => Param::Real(*number),
        Value::Text(text) => Param::Text(text),
        Value::Blob(bytes) => Param::Blob(bytes),
    }
}
