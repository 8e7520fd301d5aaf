//! What the kernel asks of a database: two traits, two engines.

use std::time::Duration;

use comity_domain::Seq;

use super::search::FullText;
use super::{CommitError, Param, Row, StoreError};

/// Receives the rows of a query one by one; an error ends the query.
pub type Visit<'a> = &'a mut dyn FnMut(Row) -> Result<(), StoreError>;

/// The `log_head` row, with the engine's clock read beside it.
#[derive(Clone, Debug)]
pub struct Head {
    /// The sequence number of the last event.
    pub seq: Seq,
    /// The chain hash of the last event.
    pub hash: [u8; 32],
    /// The random id made with the database.
    pub epoch: String,
    /// The number of the last migration.
    pub schema: i64,
    /// The last reading of the lease clock that was committed.
    pub lease_us: i64,
    /// What the clock below the lease clock showed at that reading.
    pub anchor_us: i64,
    /// Which clock that was: a boot of a machine, or the database server.
    pub anchor_of: String,
    /// The database server's clock now; `None` where the machine's own clock counts.
    pub server_us: Option<i64>,
}

/// How many rows a write must change.
#[derive(Clone, Copy, Debug)]
pub enum Rows {
    /// Exactly this many.
    Exactly(u64),
    /// Whatever is there.
    Any,
}

/// Runs queries inside an open transaction.
pub trait Session {
    /// Runs a statement and waits for its rows.
    fn each(
        &mut self,
        sql: &'static str,
        params: &[Param<'_>],
        visit: Visit<'_>,
    ) -> Result<(), StoreError>;

    /// Ends reads of this transaction that take longer than this from now on.
    fn hurry(&mut self, _longest: Duration) -> Result<(), StoreError> {
        Ok(())
    }

    /// Makes this transaction leave no trace in the files of what it overwrites and deletes, as far
    /// as the engine can.
    fn shred(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Returns how this engine indexes and finds words.
    fn full_text(&self) -> &'static dyn FullText;

    /// Runs a statement for its effect.
    ///
    /// It may return before the database answered; the answer and the number of changed rows are
    /// then checked by the next [`Session::each`] or [`WriteEngine::settle`], whichever is first.
    fn write(
        &mut self,
        sql: &'static str,
        params: &[Param<'_>],
        rows: Rows,
    ) -> Result<(), StoreError>;
}

/// The one connection that changes anything; it belongs to the writer thread.
pub trait WriteEngine: Session + Send {
    /// Opens the transaction, takes the workspace's write lock and reads the head under it.
    fn begin(&mut self) -> Result<Head, StoreError>;

    /// Checks every write that was not checked yet.
    fn settle(&mut self) -> Result<(), StoreError>;

    /// Opens the savepoint of one command; there is never more than one.
    fn savepoint(&mut self) -> Result<(), StoreError>;

    /// Keeps what the command did.
    ///
    /// It does not wait for writes that were not checked yet. One that failed shows at the next
    /// statement or at COMMIT and ends the transaction: its commands are then run one by one.
    fn release(&mut self) -> Result<(), StoreError>;

    /// Undoes what the command did and closes its savepoint.
    fn undo(&mut self) -> Result<(), StoreError>;

    /// Tells whether the transaction still exists: some errors end it silently (B3).
    fn in_transaction(&self) -> bool;

    /// Commits; `head` is what others are told to have been reached.
    fn commit(&mut self, head: Seq) -> Result<(), CommitError>;

    /// Gives the transaction up, if there still is one.
    fn rollback(&mut self);

    /// Does what cannot be put off even under load, after the answers are out.
    fn after_commit(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Does what the engine wants done when nobody waits, such as a checkpoint.
    fn idle(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}

/// A read-only connection; it belongs to one reader thread.
pub trait ReadEngine: Session + Send {
    /// Opens a snapshot and reads the head in it.
    fn begin(&mut self) -> Result<Head, StoreError>;

    /// Closes the snapshot.
    fn end(&mut self);
}
