//! The write connection of a command beside others: opened, and the database examined, with the first
//! transaction.
//!
//! Most commands without a server only ask. For them a second connection would read the whole schema,
//! and follow a thousand links of the chain, for nothing.

use comity_domain::Seq;

use super::{SqliteFile, SqliteWriter};
use crate::store::search::FullText;
use crate::store::{
    CommitError, Head, Param, ReadEngine, Rows, Session, StoreError, Visit, WriteEngine,
};

/// What a database must stand before the first transaction.
type Examine = fn(&mut dyn ReadEngine) -> Result<Head, StoreError>;

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

    fn writer(&mut self) -> Result<&mut SqliteWriter, StoreError> {
        let opened = if let Some(opened) = self.opened.take() {
            opened
        } else {
            let mut opened = self.file.open_writer()?;
            (self.examine)(&mut opened)?;
            opened
        };
        Ok(self.opened.insert(opened))
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
        WriteEngine::begin(self.writer()?)
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
