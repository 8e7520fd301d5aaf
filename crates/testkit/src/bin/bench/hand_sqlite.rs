//! The hand floor on SQLite: the kernel's statements without the kernel.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Duration;

use comity_domain::limits::{STATEMENT_CACHE_MAX, WAL_BYTES_MAX};
use comity_kernel::store::Value;
use comity_kernel::store::recording::{Call, Statement, Transaction};
use rusqlite::config::DbConfig;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection};

/// What the kernel's write connection runs under.
const PRAGMAS: [(&str, i64); 7] = [
    ("wal_autocheckpoint", 0),
    ("synchronous", 2),
    ("foreign_keys", 1),
    ("recursive_triggers", 1),
    ("cell_size_check", 1),
    ("trusted_schema", 0),
    ("mmap_size", 0),
];

/// A connection in nobody's way.
pub(crate) struct Hand {
    conn: Connection,
    wal: PathBuf,
}

impl Hand {
    #[expect(
        clippy::disallowed_methods,
        reason = "the floor is what SQLite does without us"
    )]
    pub(crate) fn open(path: &Path) -> Self {
        let conn = Connection::open(path).expect("the base opens");
        conn.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))
            .expect("the journal mode is set");
        for (name, value) in PRAGMAS {
            conn.pragma_update(None, name, value)
                .expect("a pragma is set");
        }
        conn.busy_timeout(Duration::from_secs(5))
            .expect("a timeout is set");
        conn.set_prepared_statement_cache_capacity(STATEMENT_CACHE_MAX);
        // Otherwise SQLite, built with STAT4, plans three of the five queries anew at every call
        // because their values may matter: a floor that compiles SQL is none.
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
            .expect("plans stay as they are");
        Self {
            conn,
            wal: PathBuf::from(format!("{}-wal", path.display())),
        }
    }

    /// Issues what several transactions issued as one, the head moved once.
    pub(crate) fn together(&self, script: &[Transaction]) -> rusqlite::Result<()> {
        self.conn.prepare_cached("begin immediate")?.execute([])?;
        for statement in statements(script) {
            self.issue(statement)?;
        }
        self.conn.prepare_cached("commit")?.execute([])?;
        // When the kernel does it, too.
        if std::fs::metadata(&self.wal).is_ok_and(|wal| wal.len() >= WAL_BYTES_MAX) {
            let checkpoint = "pragma wal_checkpoint(truncate)";
            self.conn.query_row(checkpoint, [], |_| Ok(()))?;
        }
        Ok(())
    }

    fn issue(&self, statement: &Statement) -> rusqlite::Result<()> {
        let mut prepared = self.conn.prepare_cached(statement.sql)?;
        bind(&mut prepared, &statement.params)?;
        match statement.call {
            Call::Write => prepared.raw_execute().map(drop),
            Call::Each => {
                let columns = prepared.column_count();
                let mut rows = prepared.raw_query();
                while let Some(row) = rows.next()? {
                    for column in 0..columns {
                        black_box(row.get_ref(column)?);
                    }
                }
                Ok(())
            }
        }
    }

    /// Returns where the log ends.
    pub(crate) fn head(&self) -> i64 {
        let sql = "select seq from log_head";
        let head = self.conn.query_row(sql, [], |row| row.get(0));
        head.expect("the head is there")
    }
}

/// The statements of all commands, then what is indexed of them, then the last move of the head.
pub(crate) fn statements(script: &[Transaction]) -> impl Iterator<Item = &Statement> {
    let commands = script.iter().flat_map(|transaction| &transaction.commands);
    let ends = script.iter().map(|transaction| &transaction.outside);
    // Each transaction moved the head at its end; together they move it once.
    let indexed = ends
        .filter_map(|end| end.split_last())
        .flat_map(|(_, indexed)| indexed);
    let head = script
        .last()
        .and_then(|transaction| transaction.outside.last());
    commands
        .flat_map(|command| &command.statements)
        .chain(indexed)
        .chain(head)
}

/// Returns where the log ends when the whole script was issued.
pub(crate) fn end_of(script: &[Transaction]) -> i64 {
    let moved = script.last().and_then(|last| last.outside.last());
    match moved.and_then(|moved| moved.params.first()) {
        Some(Value::Int(seq)) => *seq,
        other => panic!("the head is moved to a number, not to {other:?}"),
    }
}

fn bind(prepared: &mut CachedStatement<'_>, params: &[Value]) -> rusqlite::Result<()> {
    for (nth, param) in params.iter().enumerate() {
        let value = match param {
            Value::Null => ValueRef::Null,
            Value::Int(number) => ValueRef::Integer(*number),
            Value::Real(number) => ValueRef::Real(*number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Blob(bytes) => ValueRef::Blob(bytes),
        };
        prepared.raw_bind_parameter(nth + 1, ToSqlOutput::Borrowed(value))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use comity_kernel::{Kernel, Options};

    use super::*;
    use crate::base::{SqliteBase, agents, record};

    // The floor is the kernel's own work: what it leaves behind passes the doctor.
    #[test]
    fn the_recorded_statements_issued_by_hand_leave_a_sound_database() {
        let directory = tempfile::tempdir().unwrap();
        let base = SqliteBase::new(directory.path());
        let recorded = Options::sqlite(base.copy("recorded.db"));
        let script = record(recorded, &base.callers, &agents(130));
        let path = base.copy("by-hand.db");
        let hand = Hand::open(&path);
        for transaction in script.chunks(64) {
            hand.together(transaction).unwrap();
        }
        assert_eq!(hand.head(), end_of(&script));
        drop(hand);
        let kernel = Kernel::open(Options::sqlite(&path)).unwrap();
        let findings = kernel.doctor(directory.path()).unwrap();
        assert!(findings.ok, "{findings:#?}");
    }
}
