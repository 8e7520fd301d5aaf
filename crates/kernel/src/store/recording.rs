//! Writes down every statement of the write connection, so that it can be issued again by hand.
//!
//! A benchmark's floor is then exactly the kernel's SQL, and a test can look at what was asked.

use std::sync::{Arc, Mutex, PoisonError};

use comity_domain::Seq;

use super::{CommitError, Head, Param, Rows, Session, StoreError, Value, Visit, WriteEngine};

/// Collects the transactions of one kernel; given to it by its options.
#[derive(Clone, Default)]
pub struct Recorder(Arc<Mutex<Vec<Transaction>>>);

/// A committed transaction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transaction {
    /// Its commands, in the order they ran.
    pub commands: Vec<Command>,
    /// The statements outside of any command: the move of the head.
    pub outside: Vec<Statement>,
}

/// What one command issued between its savepoint and the end of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// Its statements, in order.
    pub statements: Vec<Statement>,
    /// How its savepoint ended.
    pub end: End,
}

/// How the savepoint of a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It stands.
    Released,
    /// It was undone.
    Undone,
}

/// A statement with its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// Whether it was issued for its rows.
    pub call: Call,
    /// The statement, in the kernel's dialect.
    pub sql: &'static str,
    /// The bound values.
    pub params: Vec<Value>,
}

/// Which of the two calls of a session it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// [`Session::each`], which waits for rows.
    Each,
    /// [`Session::write`], which need not wait.
    Write,
}

impl Recorder {
    /// Hands over what was committed since the last call.
    pub fn take(&self) -> Vec<Transaction> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Stands between the writer and its connection.
    pub(crate) fn wrap(&self, engine: Box<dyn WriteEngine>) -> Box<dyn WriteEngine> {
        Box::new(Recording {
            engine,
            committed: self.clone(),
            open: Transaction::default(),
            command: None,
        })
    }

    fn push(&self, transaction: Transaction) {
        let mut committed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        committed.push(transaction);
    }
}

/// A write connection that is listened to.
struct Recording {
    engine: Box<dyn WriteEngine>,
    committed: Recorder,
    open: Transaction,
    command: Option<Vec<Statement>>,
}

impl Recording {
    fn note(&mut self, call: Call, sql: &'static str, params: &[Param<'_>]) {
        let params = params.iter().map(owned).collect();
        let statements = self.command.as_mut().unwrap_or(&mut self.open.outside);
        statements.push(Statement { call, sql, params });
    }

    fn end_command(&mut self, end: End) {
        if let Some(statements) = self.command.take() {
            self.open.commands.push(Command { statements, end });
        }
    }

    fn forget(&mut self) {
        self.open = Transaction::default();
        self.command = None;
    }
}

impl Session for Recording {
    fn each(
        &mut self,
        sql: &'static str,
        params: &[Param<'_>],
        visit: Visit<'_>,
    ) -> Result<(), StoreError> {
        self.note(Call::Each, sql, params);
        self.engine.each(sql, params, visit)
    }

    fn shred(&mut self) -> Result<(), StoreError> {
        self.engine.shred()
    }

    fn full_text(&self) -> &'static dyn super::search::FullText {
        self.engine.full_text()
    }

    fn write(
        &mut self,
        sql: &'static str,
        params: &[Param<'_>],
        rows: Rows,
    ) -> Result<(), StoreError> {
        self.note(Call::Write, sql, params);
        self.engine.write(sql, params, rows)
    }
}

impl WriteEngine for Recording {
    fn begin(&mut self) -> Result<Head, StoreError> {
        self.forget();
        self.engine.begin()
    }

    fn settle(&mut self) -> Result<(), StoreError> {
        self.engine.settle()
    }

    fn savepoint(&mut self) -> Result<(), StoreError> {
        self.command = Some(Vec::new());
        self.engine.savepoint()
    }

    fn release(&mut self) -> Result<(), StoreError> {
        self.engine.release()?;
        self.end_command(End::Released);
        Ok(())
    }

    fn undo(&mut self) -> Result<(), StoreError> {
        self.end_command(End::Undone);
        self.engine.undo()
    }

    fn in_transaction(&self) -> bool {
        self.engine.in_transaction()
    }

    fn commit(&mut self, head: Seq) -> Result<(), CommitError> {
        self.engine.commit(head)?;
        self.committed.push(std::mem::take(&mut self.open));
        Ok(())
    }

    fn rollback(&mut self) {
        self.forget();
        self.engine.rollback();
    }

    fn after_commit(&mut self) -> Result<(), StoreError> {
        self.engine.after_commit()
    }

    fn idle(&mut self) -> Result<(), StoreError> {
        self.engine.idle()
    }
}

fn owned(param: &Param<'_>) -> Value {
    match *param {
        Param::Null => Value::Null,
        Param::Int(number) => Value::Int(number),
        Param::Real(number) => Value::Real(number),
        Param::Text(text) => Value::Text(text.to_owned()),
        Param::Blob(bytes) => Value::Blob(bytes.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ambient::Ambient;
    use crate::params;
    use crate::store::migrate::{MIGRATIONS, migrate_sqlite};
    use crate::store::sqlite::SqliteWriter;

    fn statement(call: Call, sql: &'static str, params: Vec<Value>) -> Statement {
        Statement { call, sql, params }
    }

    #[test]
    fn what_is_committed_is_written_down_by_command() {
        let engine = SqliteWriter::scratch().unwrap();
        migrate_sqlite(&engine, MIGRATIONS, &Ambient::system(), None).unwrap();
        let recorder = Recorder::default();
        let mut engine = recorder.wrap(Box::new(engine));
        engine.begin().unwrap();
        engine.each("select 0", &[], &mut |_| Ok(())).unwrap();
        engine.rollback();
        engine.begin().unwrap();
        engine.savepoint().unwrap();
        let read = ("select ?1", params![5]);
        engine.each(read.0, read.1, &mut |_| Ok(())).unwrap();
        engine.release().unwrap();
        engine.savepoint().unwrap();
        let forget = "delete from presence";
        engine.write(forget, &[], Rows::Any).unwrap();
        engine.undo().unwrap();
        engine.write(forget, &[], Rows::Any).unwrap();
        engine.commit(Seq::ZERO).unwrap();
        let released = Command {
            statements: vec![statement(Call::Each, "select ?1", vec![Value::Int(5)])],
            end: End::Released,
        };
        let undone = Command {
            statements: vec![statement(Call::Write, forget, vec![])],
            end: End::Undone,
        };
        let expected = Transaction {
            commands: vec![released, undone],
            outside: vec![statement(Call::Write, forget, vec![])],
        };
        assert_eq!(recorder.take(), [expected]);
        assert_eq!(recorder.take(), []);
    }
}
