//! SQLite: the only file that opens `comity.db`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use comity_domain::Seq;
use comity_domain::limits::{STATEMENT_CACHE_MAX, WAL_BYTES_MAX};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Statement, ffi};

use super::{
    Cause, CommitError, Head, Param, ReadEngine, Row, Rows, Session, StoreError, Value, Visit,
    WriteEngine,
};
use crate::error::Error;

// Older versions can corrupt a write-ahead log when two processes checkpoint.
const _: () = assert!(ffi::SQLITE_VERSION_NUMBER >= 3_051_003);

/// The number in the file's header that says whose database it is: "Comy".
pub(crate) const APPLICATION_ID: i64 = 0x436f_6d79;

const HEAD: &str = "select epoch, schema, seq, hash, lease_us, anchor_us, anchor_of from log_head";

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
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let conn = self.open(flags)?;
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
        })
    }

    /// Opens a connection that cannot write (A1).
    pub(crate) fn open_reader(&self, read_max: Duration) -> Result<SqliteReader, StoreError> {
        let mut conn = self.open(OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        set_up(&conn)?;
        conn.pragma_update(None, "query_only", true)
            .map_err(classify)?;
        let deadline = Deadline::default();
        let watched = deadline.clone();
        conn.progress_handler(10_000, Some(move || watched.passed()))
            .map_err(classify)?;
        Ok(SqliteReader {
            conn,
            deadline,
            read_max,
        })
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
        backup.step(-1).map_err(classify)?;
        drop(backup);
        // One file, complete in itself, that can be looked at without leaving others beside it.
        conn.pragma_update_and_check(None, "journal_mode", "delete", |_| Ok(()))
            .map_err(classify)?;
        Ok(copy)
    }

    /// Lets SQLite look for damage; a failure to look is none.
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
            Err(error @ StoreError::Damaged(_)) => Err(error.into()),
            Err(error) => {
                tracing::warn!(error = %error, "the database could not be checked");
                Ok(())
            }
        }
    }

    fn wal_bytes(&self) -> u64 {
        let mut wal = self.path.clone().into_os_string();
        wal.push("-wal");
        // Its size is asked by name: opening the file would drop SQLite's locks (A8).
        std::fs::metadata(wal).map_or(0, |wal| wal.len())
    }

    fn check_free_space(&self) -> Result<(), StoreError> {
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

/// Opens a finished copy to look at; no other connection has it.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that opens databases"
)]
pub(crate) fn open_copy(path: &Path) -> Result<Connection, StoreError> {
    Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(classify)
}

fn set_up(conn: &Connection) -> Result<(), StoreError> {
    conn.set_prepared_statement_cache_capacity(STATEMENT_CACHE_MAX);
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
#[error("the file or its disk is read-only")]
struct OpenedReadOnly;

#[derive(Debug, thiserror::Error)]
#[error("{free} bytes are free, below the reserve")]
struct BelowReserve {
    free: u64,
}

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

/// The write connection.
pub(crate) struct SqliteWriter {
    conn: Connection,
    /// `None` for a database in memory.
    file: Option<SqliteFile>,
    /// Whether this connection wrote to the write-ahead log since it was last merged.
    unmerged: bool,
}

impl SqliteWriter {
    /// Makes a database in memory, to fold a log into.
    pub(crate) fn in_memory() -> Result<Self, StoreError> {
        let conn = Connection::open_in_memory().map_err(classify)?;
        set_up(&conn)?;
        Ok(Self {
            conn,
            file: None,
            unmerged: false,
        })
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.conn
    }

    fn run(&self, sql: &'static str) -> Result<(), StoreError> {
        let mut statement = self.conn.prepare_cached(sql).map_err(classify)?;
        statement.execute([]).map(drop).map_err(classify)
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
        checkpoint(&self.conn, "pragma wal_checkpoint(truncate)")
    }

    fn idle(&mut self) -> Result<(), StoreError> {
        if std::mem::take(&mut self.unmerged) && self.file.is_some() {
            return checkpoint(&self.conn, "pragma wal_checkpoint(passive)");
        }
        Ok(())
    }
}

/// Checkpoints without waiting for anybody; what a reader still needs stays for the next time.
fn checkpoint(conn: &Connection, sql: &'static str) -> Result<(), StoreError> {
    let run = || -> rusqlite::Result<()> {
        conn.busy_timeout(Duration::ZERO)?;
        let done = conn.query_row(sql, [], |_| Ok(()));
        conn.busy_timeout(Duration::from_secs(5))?;
        done
    };
    run().map_err(classify)
}

/// A read-only connection.
pub(crate) struct SqliteReader {
    conn: Connection,
    deadline: Deadline,
    read_max: Duration,
}

impl SqliteReader {
    pub(crate) fn connection(&self) -> &Connection {
        &self.conn
    }
}

impl Session for SqliteReader {
    fn each(
        &mut self,
        sql: &'static str,
        params: &[Param<'_>],
        visit: Visit<'_>,
    ) -> Result<(), StoreError> {
        each(&self.conn, sql, params, visit)
    }

    fn write(&mut self, _: &'static str, _: &[Param<'_>], _: Rows) -> Result<(), StoreError> {
        Err(StoreError::Shape("a write transaction"))
    }
}

impl ReadEngine for SqliteReader {
    fn begin(&mut self) -> Result<Head, StoreError> {
        self.deadline.set(self.read_max);
        let begin = |sql| self.conn.execute_batch(sql).map_err(classify);
        begin("begin")?;
        read_head(&self.conn).inspect_err(|_| self.end())
    }

    fn end(&mut self) {
        self.deadline.lift();
        if !self.conn.is_autocommit()
            && let Err(error) = self.conn.execute_batch("commit")
        {
            tracing::error!(error = %error, "a snapshot could not be closed");
        }
    }
}

/// When a read must end; the progress handler looks at it.
#[derive(Clone)]
struct Deadline {
    start: Instant,
    at_us: Arc<AtomicU64>,
}

impl Default for Deadline {
    fn default() -> Self {
        Self {
            start: Instant::now(),
            at_us: Arc::new(AtomicU64::new(u64::MAX)),
        }
    }
}

impl Deadline {
    fn elapsed_us(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    fn set(&self, length: Duration) {
        let length = u64::try_from(length.as_micros()).unwrap_or(u64::MAX);
        self.at_us
            .store(self.elapsed_us().saturating_add(length), Ordering::Relaxed);
    }

    fn lift(&self) {
        self.at_us.store(u64::MAX, Ordering::Relaxed);
    }

    fn passed(&self) -> bool {
        self.elapsed_us() > self.at_us.load(Ordering::Relaxed)
    }
}

fn read_head(conn: &Connection) -> Result<Head, StoreError> {
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

fn each(
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

fn bind(statement: &mut Statement<'_>, params: &[Param<'_>]) -> Result<(), StoreError> {
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

    fn scratch() -> (tempfile::TempDir, SqliteFile) {
        let directory = tempfile::tempdir().unwrap();
        let file = SqliteFile {
            path: directory.path().join("comity.db"),
            reserve_bytes: 0,
            vfs: None,
        };
        (directory, file)
    }

    // A9
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
        assert!(ffi::SQLITE_VERSION_NUMBER >= 3_051_003); // A10
    }

    // A9: a value that does not read back is fatal
    #[test]
    fn a_setting_that_does_not_hold_is_fatal() {
        let (_directory, file) = scratch();
        let conn = file.open_writer().unwrap().conn;
        // Inside a transaction foreign keys cannot be switched: the setting silently fails.
        conn.execute_batch("pragma foreign_keys = off; begin")
            .unwrap();
        assert!(matches!(set_up(&conn), Err(StoreError::Other(_))));
    }

    // S5: a read that runs too long is interrupted
    #[test]
    fn a_read_ends_at_its_deadline() {
        let (_directory, file) = scratch();
        drop(file.open_writer().unwrap());
        let mut reader = file.open_reader(Duration::from_millis(20)).unwrap();
        reader.deadline.set(reader.read_max);
        let endless = "with recursive n (x) as (select 1 union all select x + 1 from n) select count(*) from n";
        let ended = reader.each(endless, &[], &mut |_| Ok(()));
        assert!(matches!(ended, Err(StoreError::Timeout(_))), "{ended:?}");
    }
}
