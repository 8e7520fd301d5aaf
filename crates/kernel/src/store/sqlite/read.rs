//! Read-only connections, with a limit on how long a read may take.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::classify;
use super::statement::{each, read_head};
use crate::store::search::FullText;
use crate::store::{Head, Param, ReadEngine, Rows, Session, StoreError, Visit};

/// A read-only connection.
pub(crate) struct SqliteReader {
    pub(super) conn: Connection,
    deadline: Deadline,
    read_max: Duration,
}

impl SqliteReader {
    /// Takes a connection, whose reads will end after `read_max`.
    pub(super) fn new(mut conn: Connection, read_max: Duration) -> Result<Self, StoreError> {
        let deadline = Deadline::default();
        let watched = deadline.clone();
        conn.progress_handler(10_000, Some(move || watched.passed()))
            .map_err(classify)?;
        Ok(Self {
            conn,
            deadline,
            read_max,
        })
    }

    /// Tells whether the database has a write-ahead log; what has none must be given one first (A9).
    pub(crate) fn is_wal(&self) -> bool {
        let mode = self
            .conn
            .query_row("pragma journal_mode", [], |row| row.get::<_, String>(0));
        mode.is_ok_and(|mode| mode == "wal")
    }

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

    fn hurry(&mut self, longest: Duration) -> Result<(), StoreError> {
        self.deadline.set(longest.min(self.read_max));
        Ok(())
    }

    fn full_text(&self) -> &'static dyn FullText {
        &super::search::Fts5
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::SqliteFile;

    // S5: a read that runs too long is interrupted
    #[test]
    fn a_read_ends_at_its_deadline() {
        let directory = tempfile::tempdir().unwrap();
        let file = SqliteFile {
            path: directory.path().join("comity.db"),
            reserve_bytes: 0,
            vfs: None,
        };
        crate::datadir::make_private_database(&file.path).unwrap();
        drop(file.open_writer().unwrap());
        let mut reader = file.open_reader(Duration::from_millis(20)).unwrap();
        reader.deadline.set(reader.read_max);
        let endless = "with recursive n (x) as (select 1 union all select x + 1 from n) select count(*) from n";
        let ended = reader.each(endless, &[], &mut |_| Ok(()));
        assert!(matches!(ended, Err(StoreError::Timeout(_))), "{ended:?}");
        // A search may take less than other reads.
        let mut patient = file.open_reader(Duration::from_mins(1)).unwrap();
        patient.deadline.set(patient.read_max);
        patient.hurry(Duration::from_millis(20)).unwrap();
        let ended = patient.each(endless, &[], &mut |_| Ok(()));
        assert!(matches!(ended, Err(StoreError::Timeout(_))), "{ended:?}");
    }

    // A1 A2: by the trace of its statements, a read begins as a reader and stays one
    #[test]
    fn a_read_takes_no_lock_of_a_writer() {
        use rusqlite::trace::{TraceEvent, TraceEventCodes};
        use std::sync::Mutex;

        let traced = |conn: &mut Connection| {
            let seen = Arc::new(Mutex::new(Vec::new()));
            let heard = Arc::clone(&seen);
            let note = move |event: TraceEvent<'_>| {
                if let TraceEvent::Stmt(_, sql) = event {
                    heard.lock().unwrap().push(sql.to_lowercase());
                }
            };
            conn.trace_v2(TraceEventCodes::SQLITE_TRACE_STMT, Some(note))
                .unwrap();
            seen
        };
        let directory = tempfile::tempdir().unwrap();
        let options = crate::Options::sqlite(directory.path().join("comity.db"));
        drop(crate::Kernel::open(options).unwrap());
        let file = SqliteFile {
            path: directory.path().join("comity.db"),
            reserve_bytes: 0,
            vfs: None,
        };
        let mut reader = file.open_reader(Duration::from_mins(1)).unwrap();
        let seen = traced(&mut reader.conn);
        reader.begin().unwrap();
        let sql = "select count(*) from state_entry";
        reader.each(sql, &[], &mut |_| Ok(())).unwrap();
        let refused = reader.conn.execute("delete from presence", []);
        assert!(refused.is_err(), "{refused:?}");
        reader.end();
        let statements = seen.lock().unwrap().clone();
        assert_eq!(statements.first().map(String::as_str), Some("begin"));
        assert_eq!(statements.last().map(String::as_str), Some("commit"));
        let locks = |sql: &&String| {
            ["immediate", "exclusive", "for update"]
                .iter()
                .any(|word| sql.contains(word))
        };
        assert_eq!(statements.iter().find(locks), None);
    }
}
