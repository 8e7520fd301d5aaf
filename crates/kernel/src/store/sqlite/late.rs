//! The write connection of a command beside others: opened, and the database examined, with the first
//! transaction.
//!
//! Most commands without a server only ask. For them a second connection would read the whole schema,
//! and follow a thousand links of the chain, for nothing.

use comity_domain::Seq;

use super::{SqliteFile, SqliteWriter};
use crate::store::search::FullText;
use crate::store::{CommitError, Head, Param, Rows, Session, StoreError, Visit, WriteEngine};

/// What a database must stand before the first transaction, in a snapshot of the connection that will
/// write it.
pub(crate) type Examine =
    Box<dyn Fn(&mut dyn Session, &Head) -> Result<(), StoreError> + Send + Sync>;

/// A write connection that may not be there yet.
pub(crate) struct LateWriter {
    file: SqliteFile,
    examine: Examine,
    opened: Option<SqliteWriter>,
}

impl LateWriter {
    pub(crate) fn new(file: SqliteFile, examine: Examine) -> Self {
        Self {
            file,
            examine,
            opened: None,
        }
    }

    fn open(&self) -> Result<SqliteWriter, StoreError> {
        let mut writer = self.file.open_writer()?;
        writer.look(&*self.examine)?;
        Ok(writer)
    }

    /// Returns the connection of a transaction that has begun.
    fn writer(&mut self) -> Result<&mut SqliteWriter, StoreError> {
        self.opened
            .as_mut()
            .ok_or(StoreError::Shape("a transaction"))
    }
}

/// Merges what others wrote and could not merge, if this process was the last: a reader cannot, and a
/// copy of the file alone would lack it.
impl Drop for LateWriter {
    fn drop(&mut self) {
        if self.opened.is_none()
            && self.file.wal_bytes() > 0
            && let Err(error) = self.file.open_writer()
        {
            tracing::debug!(error = %error, "the write-ahead log was left as it is");
        }
    }
}

impl Session for LateWriter {
    fn each(
        &mut self,
        sql: &'static str,
        params: &[Param<'_>],
        visit: Visit<'_>,
    ) -> Result<(), StoreError> {
        self.writer()?.each(sql, params, visit)
    }

    fn shred(&mut self) -> Result<(), StoreError> {
        self.writer()?.shred()
    }

    fn full_text(&self) -> &'static dyn FullText {
        &super::search::Fts5
    }

    fn write(
        &mut self,
        sql: &'static str,
        params: &[Param<'_>],
        rows: Rows,
    ) -> Result<(), StoreError> {
        self.writer()?.write(sql, params, rows)
    }
}

impl WriteEngine for LateWriter {
    fn begin(&mut self) -> Result<Head, StoreError> {
        if self.opened.is_none() {
            self.opened = Some(self.open()?);
        }
        self.writer()?.begin()
    }

    fn settle(&mut self) -> Result<(), StoreError> {
        self.writer()?.settle()
    }

    fn savepoint(&mut self) -> Result<(), StoreError> {
        self.writer()?.savepoint()
    }

    fn release(&mut self) -> Result<(), StoreError> {
        self.writer()?.release()
    }

    fn undo(&mut self) -> Result<(), StoreError> {
        self.writer()?.undo()
    }

    fn in_transaction(&self) -> bool {
        self.opened
            .as_ref()
            .is_some_and(SqliteWriter::in_transaction)
    }

    fn commit(&mut self, head: Seq) -> Result<(), CommitError> {
        let writer = self.writer().map_err(CommitError::RolledBack)?;
        writer.commit(head)
    }

    fn rollback(&mut self) {
        if let Some(writer) = &mut self.opened {
            writer.rollback();
        }
    }

    fn after_commit(&mut self) -> Result<(), StoreError> {
        match &mut self.opened {
            Some(writer) => writer.after_commit(),
            None => Ok(()),
        }
    }

    fn idle(&mut self) -> Result<(), StoreError> {
        match &mut self.opened {
            Some(writer) => writer.idle(),
            None => Ok(()),
        }
    }
}
