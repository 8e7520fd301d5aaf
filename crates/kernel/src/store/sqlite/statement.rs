//! Statements: binding values, reading rows, classifying errors.

use std::sync::Arc;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, Statement};

use crate::store::{Cause, Head, Param, Row, StoreError, Value, Visit};

const HEAD: &str = "select epoch, schema, seq, hash, lease_us, anchor_us, anchor_of from log_head";

/// Classifies by result code, never by text (A4).
pub(crate) fn classify(error: rusqlite::Error) -> StoreError {
    let code = error.sqlite_error_code();
    let cause: Cause = Arc::new(error);
    match code {
        Some(ErrorCode::ConstraintViolation) => StoreError::Constraint(cause),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy(cause),
        Some(ErrorCode::DiskFull) => StoreError::Full(cause),
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            StoreError::Unwritable(cause)
        }
        Some(ErrorCode::SystemIoFailure) => StoreError::Io(cause),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Damaged(cause),
        Some(ErrorCode::OperationInterrupted) => StoreError::Timeout(cause),
        _ => StoreError::Other(cause),
    }
}

pub(super) fn read_head(conn: &Connection) -> Result<Head, StoreError> {
    let mut head = None;
    each(conn, HEAD, &[], &mut |mut row| {
        head = Some(Head {
            epoch: row.take()?,
            schema: row.take()?,
            seq: row.take()?,
            hash: row.take()?,
            lease_us: row.take()?,
            anchor_us: row.take()?,
            anchor_of: row.take()?,
            server_us: None,
        });
        Ok(())
    })?;
    head.ok_or(StoreError::Shape("a head row"))
}

pub(super) fn each(
    conn: &Connection,
    sql: &'static str,
    params: &[Param<'_>],
    visit: Visit<'_>,
) -> Result<(), StoreError> {
    let mut statement = conn.prepare_cached(sql).map_err(classify)?;
    bind(&mut statement, params)?;
    let columns = statement.column_count();
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next().map_err(classify)? {
        let values = (0..columns)
            .map(|column| read_value(row.get_ref(column).map_err(classify)?))
            .collect::<Result<Vec<_>, StoreError>>()?;
        visit(Row::new(values))?;
    }
    Ok(())
}

pub(super) fn bind(statement: &mut Statement<'_>, params: &[Param<'_>]) -> Result<(), StoreError> {
    if statement.parameter_count() != params.len() {
        return Err(StoreError::Shape("a value for each parameter"));
    }
    for (at, param) in params.iter().enumerate() {
        let value = match *param {
            Param::Null => ValueRef::Null,
            Param::Int(number) => ValueRef::Integer(number),
            Param::Real(number) => ValueRef::Real(number),
            Param::Text(text) => ValueRef::Text(text.as_bytes()),
            Param::Blob(bytes) => ValueRef::Blob(bytes),
        };
        statement
            .raw_bind_parameter(at + 1, ToSqlOutput::Borrowed(value))
            .map_err(classify)?;
    }
    Ok(())
}

fn read_value(value: ValueRef<'_>) -> Result<Value, StoreError> {
    Ok(match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Int(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(text) => Value::Text(
            std::str::from_utf8(text)
                .map_err(|_| StoreError::Shape("UTF-8"))?
                .to_owned(),
        ),
        ValueRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
    })
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    fn failure(code: i32) -> rusqlite::Error {
        rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)
    }

    // A4: by result code, extended ones included, never by text
    #[test]
    fn every_result_code_has_its_class() {
        let class = |code| match classify(failure(code)) {
            StoreError::Constraint(_) => "constraint",
            StoreError::Busy(_) => "busy",
            StoreError::Full(_) => "full",
            StoreError::Unwritable(_) => "unwritable",
            StoreError::Io(_) => "io",
            StoreError::Damaged(_) => "damaged",
            StoreError::Timeout(_) => "timeout",
            _ => "other",
        };
        for (code, expected) in [
            (ffi::SQLITE_CONSTRAINT, "constraint"),
            (ffi::SQLITE_CONSTRAINT_UNIQUE, "constraint"),
            (ffi::SQLITE_CONSTRAINT_TRIGGER, "constraint"),
            (ffi::SQLITE_CONSTRAINT_FOREIGNKEY, "constraint"),
            (ffi::SQLITE_BUSY, "busy"),
            (ffi::SQLITE_BUSY_SNAPSHOT, "busy"),
            (ffi::SQLITE_BUSY_RECOVERY, "busy"),
            (ffi::SQLITE_LOCKED, "busy"),
            (ffi::SQLITE_FULL, "full"),
            (ffi::SQLITE_READONLY, "unwritable"),
            (ffi::SQLITE_READONLY_DBMOVED, "unwritable"),
            (ffi::SQLITE_CANTOPEN, "unwritable"),
            (ffi::SQLITE_PERM, "unwritable"),
            (ffi::SQLITE_IOERR, "io"),
            (ffi::SQLITE_IOERR_FSYNC, "io"),
            (ffi::SQLITE_IOERR_SHORT_READ, "io"),
            (ffi::SQLITE_CORRUPT, "damaged"),
            (ffi::SQLITE_CORRUPT_INDEX, "damaged"),
            (ffi::SQLITE_NOTADB, "damaged"),
            (ffi::SQLITE_INTERRUPT, "timeout"),
            (ffi::SQLITE_ERROR, "other"),
            (ffi::SQLITE_MISUSE, "other"),
            (ffi::SQLITE_TOOBIG, "other"),
        ] {
            assert_eq!(class(code), expected, "{code}");
        }
    }
}
