//! What a database can answer instead of rows, classified by code and never by text (A4).

use std::sync::Arc;

/// The driver's own error, kept for the log.
pub type Cause = Arc<dyn std::error::Error + Send + Sync>;

/// A failed statement, transaction or connection.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// A constraint or trigger refused the row: the code's own check missed it.
    #[error("a constraint of the schema refused the statement")]
    Constraint(#[source] Cause),
    /// Another process held the write lock for longer than the busy timeout.
    #[error("another process holds the database")]
    Busy(#[source] Cause),
    /// The disk or the file's quota is full.
    #[error("the disk is full")]
    Full(#[source] Cause),
    /// The file, its directory or its mount cannot be written just now.
    #[error("the database cannot be written")]
    Unwritable(#[source] Cause),
    /// Reading, writing or syncing failed: what is on disk is no longer known (A11).
    #[error("the disk failed")]
    Io(#[source] Cause),
    /// The file is not a database or is damaged.
    #[error("the database is damaged")]
    Damaged(#[source] Cause),
    /// The statement ran past its time limit.
    #[error("the statement took too long")]
    Timeout(#[source] Cause),
    /// Another server's transaction won; the batch is run again (L2).
    #[error("another transaction won")]
    Conflict(#[source] Cause),
    /// The connection went away before COMMIT was sent: nothing of the transaction stands.
    #[error("the connection to the database was lost")]
    Lost(#[source] Cause),
    /// A write changed another number of rows than its caller vouched for.
    #[error("expected {expected} changed rows, counted {counted}")]
    RowCount {
        /// What the caller vouched for.
        expected: u64,
        /// What the database counted.
        counted: u64,
    },
    /// A column held something else than the code expects.
    #[error("expected {0}")]
    Shape(&'static str),
    /// Anything else the driver said: a defect of ours.
    #[error("the database refused the statement")]
    Other(#[source] Cause),
}

/// How COMMIT can fail.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CommitError {
    /// Nothing of the transaction stands.
    #[error("the transaction was rolled back")]
    RolledBack(#[source] StoreError),
    /// The database went away before it answered: the transaction stands or it does not (L9).
    #[error("the outcome of the commit is not known")]
    Indeterminate(#[source] StoreError),
}
