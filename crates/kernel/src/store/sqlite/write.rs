//! The one write connection.

use std::time::Duration;

use comity_domain::Seq;
use comity_domain::limits::{SHRED_BYTES_MAX, WAL_BYTES_MAX};
use rusqlite::Connection;

use super::statement::{bind, each, read_head};
use super::{SqliteFile, classify};
use crate::store::search::FullText;
use crate::store::{CommitError, Head, Param, Rows, Session, StoreError, Visit, WriteEngine};

/// The write connection.
pub(crate) struct SqliteWriter {
    pub(super) conn: Connection,
    /// `None` for a database in memory.
    pub(super) file: Option<SqliteFile>,
    /// Whether this connection wrote to the write-ahead log since it was last merged.
    pub(super) unmerged: bool,
    /// What the next commit overwrites must not stay in the files.
    pub(super) shred: Shred,
}

/// How far the files are rid of what was overwritten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Shred {
    /// Nothing is to be done.
    #[default]
    No,
    /// The running transaction overwrites it with zeros.
    Now,
    /// It may be in unused parts of pages and is in the write-ahead log still.
    InPages,
    /// It is in the write-ahead log still.
    InLog,
}

impl SqliteWriter {
    /// Makes a database in memory, to fold a log into.
    pub(crate) fn scratch() -> Result<Self, StoreError> {
        Ok(Self {
            conn: super::file::open_scratch()?,
            file: None,
            unmerged: false,
            shred: Shred::No,
        })
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.conn
    }

    /// Looks at a snapshot before anything is written.
    pub(super) fn look(
        &mut self,
        examine: impl FnOnce(&mut dyn Session, &Head) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.run("begin")?;
        let looked = read_head(&self.conn).and_then(|head| examine(self, &head));
        self.rollback();
        looked
    }

    /// Goes back to overwriting quickly.
    fn end_shredding(&mut self, next: Shred) {
        if self.shred != Shred::Now {
            return;
        }
        self.shred = next;
        let off = self
            .conn
            .pragma_update_and_check(None, "secure_delete", false, |_| Ok(()));
        if let Err(error) = off {
            tracing::warn!(error = %error, "the database goes on overwriting with zeros");
        }
    }

    /// Writes a small database anew, for rows that were moved left themselves behind in the unused
    /// parts of pages, and empties the write-ahead log.
    fn finish_shredding(&mut self) -> Result<(), StoreError> {
        let bytes = self.file.as_ref().map_or(0, SqliteFile::bytes);
        if self.shred == Shred::InPages {
            if bytes <= SHRED_BYTES_MAX {
                self.conn.execute_batch("vacuum").map_err(classify)?;
            } else {
                tracing::warn!(
                    bytes,
                    "unused parts of the file may keep what was redacted until VACUUM"
                );
            }
            self.shred = Shred::InLog;
        }
        self.truncate()
    }

    /// Empties the write-ahead log, unless somebody still reads it.
    fn truncate(&mut self) -> Result<(), StoreError> {
        let merged = checkpoint(&self.conn, "pragma wal_checkpoint(truncate)")?;
        if merged && self.shred == Shred::InLog {
            self.shred = Shred::No;
        }
        Ok(())
    }

    fn run(&self, sql: &'static str) -> Result<(), StoreError> {
        let mut statement = self.conn.prepare_cached(sql).map_err(classify)?;
        statement.execute([]).map(drop).map_err(classify)
    }
}

/// Whoever stops right after a redaction must not leave it in the files.
impl Drop for SqliteWriter {
    fn drop(&mut self) {
        if matches!(self.shred, Shred::InPages | Shred::InLog)
            && let Err(error) = self.finish_shredding()
        {
            tracing::warn!(error = %error, "the files may keep what was redacted");
        }
    }
}

impl Session for SqliteWriter {
    fn each(
        &mut self,
        sql: &'static str,
        params: &[Param<'_>],
        visit: Visit<'_>,
    ) -> Result<(), StoreError> {
        each(&self.conn, sql, params, visit)
    }

    fn shred(&mut self) -> Result<(), StoreError> {
        self.shred = Shred::Now;
        self.conn
            .pragma_update_and_check(None, "secure_delete", true, |_| Ok(()))
            .map_err(classify)
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
        let mut statement = self.conn.prepare_cached(sql).map_err(classify)?;
        bind(&mut statement, params)?;
        let counted = statement.raw_execute().map_err(classify)? as u64;
        match rows {
            Rows::Exactly(expected) if expected != counted => {
                Err(StoreError::RowCount { expected, counted })
            }
            Rows::Exactly(_) | Rows::Any => Ok(()),
        }
    }
}

impl WriteEngine for SqliteWriter {
    fn begin(&mut self) -> Result<Head, StoreError> {
        if let Some(file) = &self.file {
            file.check_free_space()?;
        }
        self.run("begin immediate")?;
        read_head(&self.conn).inspect_err(|_| self.rollback())
    }

    fn settle(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn savepoint(&mut self) -> Result<(), StoreError> {
        self.run("savepoint command")
    }

    fn release(&mut self) -> Result<(), StoreError> {
        self.run("release command")
    }

    fn undo(&mut self) -> Result<(), StoreError> {
        self.run("rollback to command")?;
        self.run("release command")
    }

    fn in_transaction(&self) -> bool {
        !self.conn.is_autocommit()
    }

    fn commit(&mut self, _head: Seq) -> Result<(), CommitError> {
        let Err(error) = self.run("commit") else {
            self.unmerged = true;
            self.end_shredding(Shred::InPages);
            return Ok(());
        };
        self.rollback();
        // A failed sync leaves frames that a later recovery may or may not accept (A11).
        Err(match error {
            StoreError::Io(_) => CommitError::Indeterminate(error),
            error => CommitError::RolledBack(error),
        })
    }

    fn rollback(&mut self) {
        self.end_shredding(Shred::No);
        if self.in_transaction()
            && let Err(error) = self.run("rollback")
        {
            tracing::error!(error = %error, "a transaction could not be rolled back");
        }
    }

    fn after_commit(&mut self) -> Result<(), StoreError> {
        let wal_bytes = self.file.as_ref().map_or(0, SqliteFile::wal_bytes);
        if wal_bytes < WAL_BYTES_MAX {
            return Ok(());
        }
        self.truncate()
    }

    fn idle(&mut self) -> Result<(), StoreError> {
        if matches!(self.shred, Shred::InPages | Shred::InLog) {
            return self.finish_shredding();
        }
        if std::mem::take(&mut self.unmerged) && self.file.is_some() {
            return checkpoint(&self.conn, "pragma wal_checkpoint(passive)").map(drop);
        }
        Ok(())
    }
}

/// Checkpoints without waiting for anybody; what a reader still needs stays for the next time.
/// Tells whether all was merged.
fn checkpoint(conn: &Connection, sql: &'static str) -> Result<bool, StoreError> {
    let run = || -> rusqlite::Result<bool> {
        conn.busy_timeout(Duration::ZERO)?;
        let done = conn.query_row(sql, [], |row| Ok(row.get::<_, i64>(0)? == 0));
        conn.busy_timeout(Duration::from_secs(5))?;
        done
    };
    run().map_err(classify)
}
