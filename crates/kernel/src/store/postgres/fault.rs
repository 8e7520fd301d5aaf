//! What an error of the driver means to us, by SQLSTATE and never by text (A4).

use std::error::Error as _;
use std::io;
use std::sync::Arc;

use tokio_postgres::Error;
use tokio_postgres::error::Severity;

use crate::store::{Cause, StoreError};

/// Classifies an error of a statement or a connection.
pub(super) fn classify(error: Error) -> StoreError {
    if let Some(code) = error.code() {
        let code = code.code().to_owned();
        return by_state(&code, Arc::new(error));
    }
    // What the socket or the protocol said; after either there is nobody to talk to.
    let is_cut = error.is_closed()
        || error
            .source()
            .is_some_and(<dyn std::error::Error>::is::<io::Error>);
    let cause: Cause = Arc::new(error);
    if is_cut {
        StoreError::Lost(cause)
    } else {
        StoreError::Other(cause)
    }
}

/// Tells whether the server said so itself, and goes on talking.
///
/// After FATAL or PANIC it does not, and what it did just before is not known.
pub(super) fn is_verdict(error: &Error) -> bool {
    error
        .as_db_error()
        .is_some_and(|said| said.parsed_severity() == Some(Severity::Error))
}

fn by_state(code: &str, cause: Cause) -> StoreError {
    match code {
        "40001" | "40P01" => StoreError::Conflict(cause),
        "53100" => StoreError::Full(cause),
        "58030" => StoreError::Io(cause),
        "25006" => StoreError::Unwritable(cause),
        "57014" => StoreError::Timeout(cause),
        "55P03" => StoreError::Busy(cause),
        // The server ends the session: idle in a transaction, or the transaction too long.
        "25P03" | "25P04" => StoreError::Lost(cause),
        "XX001" | "XX002" => StoreError::Damaged(cause),
        // All of 57P: shut down, crashed, starting, dropped, idle.
        _ if code.starts_with("57P") || code.starts_with("08") => StoreError::Lost(cause),
        _ if code.starts_with("23") => StoreError::Constraint(cause),
        _ => StoreError::Other(cause),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(error: &StoreError) -> &'static str {
        match error {
            StoreError::Constraint(_) => "constraint",
            StoreError::Busy(_) => "busy",
            StoreError::Full(_) => "full",
            StoreError::Unwritable(_) => "unwritable",
            StoreError::Io(_) => "io",
            StoreError::Damaged(_) => "damaged",
            StoreError::Timeout(_) => "timeout",
            StoreError::Conflict(_) => "conflict",
            StoreError::Lost(_) => "lost",
            StoreError::RowCount { .. } => "row count",
            StoreError::Shape(_) => "shape",
            StoreError::Other(_) => "other",
        }
    }

    // A4
    #[test]
    fn every_sqlstate_has_its_class() {
        for (code, expected) in [
            ("23000", "constraint"), // integrity_constraint_violation
            ("23001", "constraint"), // restrict_violation, also what our triggers raise
            ("23502", "constraint"), // not_null_violation
            ("23503", "constraint"), // foreign_key_violation
            ("23505", "constraint"), // unique_violation
            ("23514", "constraint"), // check_violation
            ("23P01", "constraint"), // exclusion_violation
            ("40001", "conflict"),   // serialization_failure
            ("40P01", "conflict"),   // deadlock_detected
            ("53100", "full"),       // disk_full
            ("58030", "io"),         // io_error
            ("25006", "unwritable"), // read_only_sql_transaction
            ("57014", "timeout"),    // query_canceled
            ("55P03", "busy"),       // lock_not_available
            ("25P03", "lost"),       // idle_in_transaction_session_timeout
            ("25P04", "lost"),       // transaction_timeout
            ("57P01", "lost"),       // admin_shutdown
            ("57P02", "lost"),       // crash_shutdown
            ("57P03", "lost"),       // cannot_connect_now
            ("57P04", "lost"),       // database_dropped
            ("57P05", "lost"),       // idle_session_timeout
            ("08000", "lost"),       // connection_exception
            ("08006", "lost"),       // connection_failure
            ("08P01", "lost"),       // protocol_violation
            ("XX001", "damaged"),    // data_corrupted
            ("XX002", "damaged"),    // index_corrupted
            ("XX000", "other"),      // internal_error
            ("25P02", "other"),      // in_failed_sql_transaction
            ("22012", "other"),      // division_by_zero
            ("42601", "other"),      // syntax_error
            ("42P01", "other"),      // undefined_table
            ("28P01", "other"),      // invalid_password
            ("53200", "other"),      // out_of_memory
            ("53300", "other"),      // too_many_connections
        ] {
            let error = by_state(code, Arc::new(io::Error::other(code)));
            assert_eq!(name(&error), expected, "{code}");
        }
    }
}
