//! Where a database lies: opening it, copying it, checking it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use comity_domain::limits::STATEMENT_CACHE_MAX;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension, ffi};

use super::write::Shred;
use super::{SqliteReader, SqliteWriter, classify};
use crate::error::Error;
use crate::store::StoreError;

// Older versions can corrupt a write-ahead log when two processes checkpoint.
const _: () = assert!(ffi::SQLITE_VERSION_NUMBER >= 3_051_003);

/// The number in the file's header that says whose database it is: "Comy".
pub(crate) const APPLICATION_ID: i64 = 0x436f_6d79;

/// What is relied on, and read back at every open (A9).
const PRAGMAS: [(&str, &str, &str); 7] = [
    ("synchronous", "pragma synchronous", "2"),
    ("foreign_keys", "pragma foreign_keys", "1"),
    ("recursive_triggers", "pragma recursive_triggers", "1"),
    ("cell_size_check", "pragma cell_size_check", "1"),
    ("trusted_schema", "pragma trusted_schema", "0"),
    ("mmap_size", "pragma mmap_size", "0"),
    ("busy_timeout", "pragma busy_timeout", "5000"),
];

/// Where a SQLite database lies and how it is opened.
#[derive(Clone, Debug)]
pub struct SqliteFile {
    /// The file.
    pub path: PathBuf,
    /// Bytes that must stay free on its disk.
    pub reserve_bytes: u64,
    /// A file system to go through instead of the default; for tests.
    pub vfs: Option<String>,
}

impl SqliteFile {
    /// Opens the write connection, makes what is relied on so, and reads it back.
    pub(crate) fn open_writer(&self) -> Result<SqliteWriter, StoreError> {
        // It was made before, private; a file that is gone is not made anew in its place.
        let conn = self.open(OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        if conn.is_readonly(rusqlite::MAIN_DB).map_err(classify)? {
            // SQLite opens for reading what it may not write, and says nothing.
            return Err(StoreError::Unwritable(Arc::new(OpenedReadOnly)));
        }
        let mode: String = conn
            .pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))
            .map_err(classify)?;
        if mode != "wal" {
            return Err(StoreError::Other(Arc::new(Mismatch {
                name: "journal_mode",
                found: mode,
            })));
        }
        // The writer checkpoints when nobody waits, not inside somebody's COMMIT.
        conn.pragma_update(None, "wal_autocheckpoint", 0)
            .map_err(classify)?;
        set_up(&conn)?;
        Ok(SqliteWriter {
            conn,
            file: Some(self.clone()),
            unmerged: false,
            shred: Shred::No,
        })
    }

    /// Opens a connection that cannot write (A1).
    pub(crate) fn open_reader(&self, read_max: Duration) -> Result<SqliteReader, StoreError> {
        let conn = self.open(OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        set_up(&conn)?;
        conn.pragma_update(None, "query_only", true)
            .map_err(classify)?;
        SqliteReader::new(conn, read_max)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that opens databases"
    )]
    fn open(&self, flags: OpenFlags) -> Result<Connection, StoreError> {
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        match &self.vfs {
            Some(vfs) => Connection::open_with_flags_and_vfs(&self.path, flags, vfs.as_str()),
            None => Connection::open_with_flags(&self.path, flags),
        }
        .map_err(classify)
    }

    /// Copies the database into a new file by SQLite's own backup, beside a running writer.
    pub(crate) fn copy_to(&self, target: &Path) -> Result<Self, StoreError> {
        let source = self.open_reader(Duration::MAX)?;
        let copy = Self {
            path: target.to_owned(),
            reserve_bytes: 0,
            vfs: None,
        };
        let mut conn = copy.open(OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let backup = rusqlite::backup::Backup::new(&source.conn, &mut conn).map_err(classify)?;
        // All pages in one step: the copy is one snapshot, however much is written meanwhile.
        let step = backup.step(-1).map_err(classify)?;
        drop(backup);
        if step != rusqlite::backup::StepResult::Done {
            return Err(StoreError::Busy(Arc::new(NotCopied)));
        }
        // One file, complete in itself, that can be looked at without leaving others beside it.
        conn.pragma_update_and_check(None, "journal_mode", "delete", |_| Ok(()))
            .map_err(classify)?;
        Ok(copy)
    }

    /// Lets SQLite look for damage.
    pub(crate) fn quick_check(&self) -> Result<(), Error> {
        let checked = self.open_reader(Duration::MAX).and_then(|reader| {
            let sql = "pragma quick_check(1)";
            let answer = reader
                .conn
                .query_row(sql, [], |row| row.get::<_, String>(0));
            answer.map_err(classify)
        });
        match checked {
            Ok(answer) if answer == "ok" => Ok(()),
            Ok(what) => Err(Error::Damaged { what }),
            Err(error) => Err(error.into()),
        }
    }

    /// Tells whether the file may be written. What a connection that may only read it leaves beside it
    /// nobody could write later.
    pub(crate) fn is_writable(&self) -> bool {
        rustix::fs::access(&self.path, rustix::fs::Access::WRITE_OK).is_ok()
    }

    pub(super) fn bytes(&self) -> u64 {
        // By name, for the same reason.
        std::fs::metadata(&self.path).map_or(0, |file| file.len())
    }

    pub(super) fn wal_bytes(&self) -> u64 {
        let mut wal = self.path.clone().into_os_string();
        wal.push("-wal");
        // Its size is asked by name: opening the file would drop SQLite's locks (A8).
        std::fs::metadata(wal).map_or(0, |wal| wal.len())
    }

    pub(super) fn check_free_space(&self) -> Result<(), StoreError> {
        if self.reserve_bytes == 0 {
            return Ok(());
        }
        let directory = self.path.parent().unwrap_or(Path::new("."));
        let free = rustix::fs::statvfs(directory)
            .map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize))
            .map_err(|error| StoreError::Unwritable(Arc::new(error)))?;
        if free < self.reserve_bytes {
            return Err(StoreError::Full(Arc::new(BelowReserve { free })));
        }
        Ok(())
    }
}

/// Opens a database of its own: what does not fit into memory is in a file that nobody else sees and
/// that goes with the connection.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that opens databases"
)]
pub(super) fn open_scratch() -> Result<Connection, StoreError> {
    let conn = Connection::open("").map_err(classify)?;
    set_up(&conn)?;
    Ok(conn)
}

/// Opens a finished copy to look at; no other connection has it.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that opens databases"
)]
pub(crate) fn open_copy(path: &Path) -> Result<Connection, StoreError> {
    Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(classify)
}

pub(super) fn set_up(conn: &Connection) -> Result<(), StoreError> {
    conn.set_prepared_statement_cache_capacity(STATEMENT_CACHE_MAX);
    // Otherwise a plan may depend on bound values, and SQLite compiles such a statement anew at
    // every call: measured, more than half of a batch's time.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
        .map_err(classify)?;
    conn.busy_timeout(Duration::from_secs(5))
        .map_err(classify)?;
    for (name, ask, wanted) in PRAGMAS {
        if name != "busy_timeout" {
            conn.pragma_update(None, name, wanted).map_err(classify)?;
        }
        let found = conn
            .query_row(ask, [], |row| row.get::<_, i64>(0))
            .optional()
            .map_err(classify)?;
        let found = match found {
            Some(value) => value.to_string(),
            // A database in memory has no file to map, and says nothing.
            None if name == "mmap_size" => continue,
            None => "nothing".to_owned(),
        };
        if found != wanted {
            return Err(StoreError::Other(Arc::new(Mismatch { name, found })));
        }
    }
    Ok(())
}

#[derive(Debug, thiserror::Error)]
#[error("pragma {name} reads back as {found}")]
struct Mismatch {
    name: &'static str,
    found: String,
}

#[derive(Debug, thiserror::Error)]
#[error("the database was locked while it was copied")]
struct NotCopied;

#[derive(Debug, thiserror::Error)]
#[error("the file or its disk is read-only")]
struct OpenedReadOnly;

#[derive(Debug, thiserror::Error)]
#[error("{free} bytes are free, below the reserve")]
struct BelowReserve {
    free: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch() -> (tempfile::TempDir, SqliteFile) {
        let directory = tempfile::tempdir().unwrap();
        let file = SqliteFile {
            path: directory.path().join("comity.db"),
            reserve_bytes: 0,
            vfs: None,
        };
        crate::datadir::make_private_database(&file.path).unwrap();
        (directory, file)
    }

    // A9 A10: the version is asserted when this is compiled
    #[test]
    fn every_connection_has_what_is_relied_on() {
        let (_directory, file) = scratch();
        let writer = file.open_writer().unwrap();
        let reader = file.open_reader(Duration::from_secs(1)).unwrap();
        for conn in [&writer.conn, &reader.conn] {
            let ask = |name: &str| {
                let row = conn.query_row(&format!("pragma {name}"), [], |row| row.get::<_, i64>(0));
                row.unwrap()
            };
            assert_eq!((ask("synchronous"), ask("foreign_keys")), (2, 1));
            assert_eq!((ask("recursive_triggers"), ask("trusted_schema")), (1, 0));
            assert_eq!((ask("cell_size_check"), ask("mmap_size")), (1, 0));
            assert_eq!(ask("busy_timeout"), 5_000);
            let mode = conn.query_row("pragma journal_mode", [], |row| row.get::<_, String>(0));
            assert_eq!(mode.unwrap(), "wal");
        }
    }

    // A9: a value that does not read back is fatal
    #[test]
    fn a_setting_that_does_not_hold_is_fatal() {
        let (_directory, file) = scratch();
        let writer = file.open_writer().unwrap();
        let conn = &writer.conn;
        // Inside a transaction foreign keys cannot be switched: the setting silently fails.
        conn.execute_batch("pragma foreign_keys = off; begin")
            .unwrap();
        assert!(matches!(set_up(conn), Err(StoreError::Other(_))));
    }
}
