//! A reader's engine: snapshots whose `as_of_seq` is true (L2).

use std::sync::Arc;
use std::time::Duration;

use super::bind::Bound;
use super::connection::Connection;
use super::head::{self, READ_HEAD};
use super::rows::visit_rows;
use super::settings::Role;
use super::target::PostgresTarget;
use crate::params;
use crate::store::search::FullText;
use crate::store::{Head, Param, ReadEngine, Rows, Session, StoreError, Visit};

/// The first statement after it takes the snapshot that all others see.
const BEGIN: &str = "begin isolation level repeatable read read only";
const END: &str = "rollback";

/// Prepared with the connection: in a failed transaction it would be too late.
const CONTROL: [&str; 3] = [BEGIN, READ_HEAD, END];

/// A read-only connection.
pub(crate) struct PostgresReader {
    connection: Connection,
}

/// A write on a read-only connection: a defect of the caller.
#[derive(Debug, thiserror::Error)]
#[error("a reader cannot write")]
struct ReadOnly;

impl PostgresReader {
    /// Connects to a workspace that was migrated.
    pub(crate) fn open(target: &PostgresTarget) -> Result<Self, StoreError> {
        Ok(Self {
            connection: Connection::open(target, Role::Reader)?,
        })
    }

    /// Connects for one long look at everything: doctors and moves, not requests.
    pub(crate) fn open_unhurried(target: &PostgresTarget) -> Result<Self, StoreError> {
        Ok(Self {
            connection: Connection::open(target, Role::Examiner)?,
        })
    }

    fn snapshot(&mut self) -> Result<Head, StoreError> {
        // The last of them: with it all were.
        if !self.connection.is_prepared(END) {
            self.connection.prepare(&CONTROL)?;
        }
        head::open(&mut self.connection, BEGIN, READ_HEAD)
    }
}

impl Session for PostgresReader {
    fn each(
        &mut self,
        sql: &'static str,
        params: &[Param<'_>],
        visit: Visit<'_>,
    ) -> Result<(), StoreError> {
        if !self.connection.is_prepared(sql) {
            self.connection.prepare(&[sql])?;
        }
        let rows = self.connection.query(sql, Bound::all(params))?;
        let waited = self.connection.wait(visit_rows(rows, visit));
        waited?.map_err(|stop| stop.explain(&self.connection))
    }

    fn hurry(&mut self, longest: Duration) -> Result<(), StoreError> {
        let longest = format!("{}ms", longest.as_millis());
        let sql = "select set_config('statement_timeout', cast(?1 as text), true)";
        self.each(sql, params![&longest], &mut |_| Ok(()))
    }

    fn full_text(&self) -> &'static dyn FullText {
        &super::search::TsVector
    }

    fn write(&mut self, _: &'static str, _: &[Param<'_>], _: Rows) -> Result<(), StoreError> {
        Err(StoreError::Other(Arc::new(ReadOnly)))
    }
}

impl ReadEngine for PostgresReader {
    fn begin(&mut self) -> Result<Head, StoreError> {
        self.connection.ensure()?;
        let mut head = self.snapshot();
        if matches!(head, Err(StoreError::Lost(_))) {
            // The session had died unnoticed while nobody used it.
            self.connection.ensure()?;
            head = self.snapshot();
        }
        if head.is_err() {
            self.end();
        }
        head
    }

    fn end(&mut self) {
        // Waited for, or the snapshot would stay open until the next one.
        self.connection.finish(END);
    }
}
