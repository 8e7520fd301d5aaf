//! The writer's engine: statements are sent without waiting and checked together.

use std::sync::Arc;

use comity_domain::Seq;

use super::bind::Bound;
use super::commit::{self, COMMIT, PROVE, PROVE_AND_NOTIFY};
use super::connection::Connection;
use super::head::{self, LOCK_HEAD};
use super::pipeline::{Failure, Pipeline};
use super::round_trips::{RoundTrips, count};
use super::rows::{Stop, visit_rows};
use super::savepoint::{self, RELEASE, RETURN, SAVEPOINT};
use super::settings::Role;
use super::target::PostgresTarget;
use super::transaction::{Scope, Transaction};
use crate::store::search::FullText;
use crate::store::{CommitError, Head, Param, Rows, Session, StoreError, Visit, WriteEngine};

const BEGIN: &str = "begin isolation level read committed";
const ROLLBACK: &str = "rollback";

/// Prepared with the connection: in a failed transaction it would be too late.
const CONTROL: [&str; 9] = [
    BEGIN,
    LOCK_HEAD,
    SAVEPOINT,
    RELEASE,
    RETURN,
    PROVE,
    PROVE_AND_NOTIFY,
    COMMIT,
    ROLLBACK,
];

/// The one connection of this process that changes anything.
pub(crate) struct PostgresWriter {
    connection: Connection,
    pipeline: Pipeline,
    transaction: Option<Transaction>,
    trips: Arc<RoundTrips>,
}

/// A statement outside of a transaction: a defect of the caller.
#[derive(Debug, thiserror::Error)]
#[error("no transaction is open")]
struct NoTransaction;

impl PostgresWriter {
    /// Connects to a workspace that was migrated.
    pub(crate) fn open(target: &PostgresTarget) -> Result<Self, StoreError> {
        Ok(Self {
            connection: Connection::open(target, Role::Writer)?,
            pipeline: Pipeline::default(),
            transaction: None,
            trips: Arc::default(),
        })
    }

    /// Returns the counter of waits, which outlives the connection.
    pub(crate) fn round_trips(&self) -> Arc<RoundTrips> {
        Arc::clone(&self.trips)
    }

    /// Returns the session, so that tests can do to it what the engine does not know of.
    #[cfg(test)]
    pub(super) fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    fn lock_head(&mut self) -> Result<Head, StoreError> {
        // The last of them: with it all were.
        if !self.connection.is_prepared(ROLLBACK) {
            count(&self.trips.preparing);
            self.connection.prepare(&CONTROL)?;
        }
        count(&self.trips.reading);
        head::open(&mut self.connection, BEGIN, LOCK_HEAD)
    }

    fn transaction(&mut self) -> Result<&mut Transaction, StoreError> {
        let open = self.transaction.as_mut();
        open.ok_or_else(|| StoreError::Other(Arc::new(NoTransaction)))
    }

    fn fail(&mut self, error: StoreError, takes: Scope) -> StoreError {
        if let Some(transaction) = &mut self.transaction {
            transaction.fail(&error, takes);
        }
        error
    }

    fn fail_by(&mut self, failure: Failure) -> StoreError {
        let takes = failure.scope;
        let error = failure.explain(&self.connection);
        self.fail(error, takes)
    }

    /// Waits for everything outstanding.
    fn check(&mut self) -> Result<(), StoreError> {
        let pipeline = &mut self.pipeline;
        match self.connection.wait(pipeline.check()) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(failure)) => Err(self.fail_by(failure)),
            Err(lost) => Err(self.fail(lost, Scope::Batch)),
        }
    }

    fn prepare(&mut self, sql: &'static str, scope: Scope) -> Result<(), StoreError> {
        if self.connection.is_prepared(sql) {
            return Ok(());
        }
        count(&self.trips.preparing);
        // First what is outstanding: if that failed, preparing would only say so.
        self.check()?;
        let prepared = self.connection.prepare(&[sql]);
        prepared.map_err(|error| self.fail(error, scope))
    }

    fn send(
        &mut self,
        sql: &'static str,
        params: Vec<Bound>,
        rows: Rows,
        scope: Scope,
    ) -> Result<(), StoreError> {
        let bytes = params.iter().map(Bound::bytes).sum();
        match self.connection.execute(sql, params) {
            Ok(answer) => {
                self.pipeline.push(answer, bytes, rows, scope);
                Ok(())
            }
            Err(error) => Err(self.fail(error, scope)),
        }
    }

    /// Learns what must be known before COMMIT is sent; returns the head the transaction began at.
    fn check_before_commit(&mut self) -> Result<Seq, StoreError> {
        let transaction = self.transaction()?;
        let began_at = transaction.began_at;
        transaction.sound()?;
        // The server does not know what we vouched for, so it would commit a wrong count. The last
        // write is the move of the head, and the proof vouches for that.
        if self.pipeline.counts_before_last() {
            count(&self.trips.writing);
            self.check()?;
        }
        self.connection.drive();
        if self.connection.is_closed() {
            return Err(self.connection.lost());
        }
        Ok(began_at)
    }
}

impl Session for PostgresWriter {
    fn each(
        &mut self,
        sql: &'static str,
        params: &[Param<'_>],
        visit: Visit<'_>,
    ) -> Result<(), StoreError> {
        let scope = self.transaction()?.sending()?;
        self.prepare(sql, scope)?;
        let rows = match self.connection.query(sql, Bound::all(params)) {
            Ok(rows) => rows,
            Err(error) => return Err(self.fail(error, scope)),
        };
        count(&self.trips.reading);
        let pipeline = &mut self.pipeline;
        let waited = self.connection.wait(async {
            // First what was sent first: if that failed, the query only says that it did.
            pipeline.check().await?;
            Ok(visit_rows(rows, visit).await)
        });
        match waited {
            Ok(Ok(Ok(()))) => Ok(()),
            Ok(Ok(Err(Stop::Visitor(error)))) => Err(error),
            Ok(Ok(Err(Stop::Refused(error)))) => {
                let error = self.connection.explain(error);
                Err(self.fail(error, scope))
            }
            Ok(Err(failure)) => Err(self.fail_by(failure)),
            Err(lost) => Err(self.fail(lost, Scope::Batch)),
        }
    }

    fn full_text(&self) -> &'static dyn FullText {
        &super::search::TsVector
    }

    fn write(
        &mut self,
        sql: &'static str,
        params: &[Param<'_>],
        rows: Rows,
    ) -> Result<(), StoreError> {
        let scope = self.transaction()?.sending()?;
        self.prepare(sql, scope)?;
        self.send(sql, Bound::all(params), rows, scope)?;
        if self.pipeline.is_full() {
            return self.settle();
        }
        Ok(())
    }
}

impl WriteEngine for PostgresWriter {
    fn begin(&mut self) -> Result<Head, StoreError> {
        if self.transaction.is_some() {
            self.rollback();
        }
        self.connection.ensure()?;
        let mut locked = self.lock_head();
        if matches!(locked, Err(StoreError::Lost(_))) {
            // The session had died unnoticed while nobody used it; nothing was done in it yet.
            self.connection.ensure()?;
            locked = self.lock_head();
        }
        match locked {
            Ok(head) => {
                self.transaction = Some(Transaction::new(head.seq));
                Ok(head)
            }
            Err(error) => {
                self.rollback();
                // All that this statement can wait for is the lock, so either limit means that.
                Err(match error {
                    StoreError::Timeout(cause) => StoreError::Busy(cause),
                    error => error,
                })
            }
        }
    }

    fn settle(&mut self) -> Result<(), StoreError> {
        self.transaction()?.sound()?;
        if self.pipeline.is_empty() {
            return Ok(());
        }
        count(&self.trips.writing);
        self.check()
    }

    fn savepoint(&mut self) -> Result<(), StoreError> {
        self.transaction()?.sound()?;
        self.send(SAVEPOINT, Vec::new(), Rows::Any, Scope::Batch)?;
        self.transaction()?.enter();
        Ok(())
    }

    fn release(&mut self) -> Result<(), StoreError> {
        self.transaction()?.sound()?;
        self.send(RELEASE, Vec::new(), Rows::Any, Scope::Batch)?;
        self.transaction()?.release();
        Ok(())
    }

    fn undo(&mut self) -> Result<(), StoreError> {
        let command = self.transaction()?.undoable()?;
        count(&self.trips.writing);
        let undone = savepoint::undo(&mut self.connection, &mut self.pipeline, command);
        undone.map_err(|error| self.fail(error, Scope::Batch))?;
        self.transaction()?.undone();
        Ok(())
    }

    fn in_transaction(&self) -> bool {
        let open = self.transaction.as_ref();
        open.is_some_and(|open| !open.is_doomed()) && !self.connection.is_closed()
    }

    fn commit(&mut self, head: Seq) -> Result<(), CommitError> {
        let checked = self.check_before_commit();
        let committed = checked
            .map_err(CommitError::RolledBack)
            .and_then(|began_at| {
                count(&self.trips.writing);
                commit::commit(&mut self.connection, &mut self.pipeline, began_at, head)
            });
        if committed.is_ok() {
            self.transaction = None;
        } else {
            // To be sure: after an error the server may still hold the transaction open.
            self.rollback();
        }
        committed
    }

    fn rollback(&mut self) {
        self.transaction = None;
        self.pipeline.clear();
        self.connection.finish(ROLLBACK);
    }
}
