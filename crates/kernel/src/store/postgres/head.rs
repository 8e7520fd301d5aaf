//! The head of the log, read with the server's clock beside it.

use super::connection::Connection;
use super::rows::{Stop, visit_rows};
use crate::store::{Head, Row, StoreError};

/// Takes the workspace's write lock, then reads under it.
///
/// `returning` is computed after the wait for the lock; in `set` the clock could be stale (3.2).
pub(super) const LOCK_HEAD: &str = "update log_head set one = one returning epoch, schema, seq, \
     hash, lease_us, anchor_us, anchor_of, \
     (extract(epoch from clock_timestamp()) * 1000000)::bigint";

/// Reads the head of a snapshot.
pub(super) const READ_HEAD: &str = "select epoch, schema, seq, hash, lease_us, anchor_us, \
     anchor_of, (extract(epoch from clock_timestamp()) * 1000000)::bigint from log_head";

/// Sends what opens a transaction and the statement that reads the head, and waits for both.
pub(super) fn open(
    connection: &mut Connection,
    begin: &'static str,
    head: &'static str,
) -> Result<Head, StoreError> {
    let begin = connection.execute(begin, Vec::new())?;
    let rows = connection.query(head, Vec::new())?;
    let mut head = None;
    let waited = connection.wait(async {
        begin.await.map_err(Stop::Refused)?;
        let mut visit = |row| {
            head = Some(decode(row)?);
            Ok(())
        };
        visit_rows(rows, &mut visit).await
    });
    waited?.map_err(|stop| stop.explain(connection))?;
    head.ok_or(StoreError::Shape("a row in log_head"))
}

fn decode(mut row: Row) -> Result<Head, StoreError> {
    Ok(Head {
        epoch: row.take()?,
        schema: row.take()?,
        seq: row.take()?,
        hash: row.take()?,
        lease_us: row.take()?,
        anchor_us: row.take()?,
        anchor_of: row.take()?,
        server_us: Some(row.take()?),
    })
}
