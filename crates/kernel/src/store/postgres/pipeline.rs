//! Writes that were sent and whose answers nobody looked at yet.

use std::collections::VecDeque;

use tokio_postgres::Error;

use super::connection::{Connection, Sent};
use super::transaction::Scope;
use crate::store::{Rows, StoreError};

/// How many answers may be outstanding; the next write then waits for them.
const PENDING_MAX: usize = 1_000;

/// How many bytes of values may wait to be sent.
const PENDING_BYTES_MAX: usize = 4 << 20;

/// Why a statement did not do what its caller vouched for.
#[derive(Debug)]
pub(super) enum Fault {
    /// The driver or the server said so.
    Refused(Error),
    /// It ran, and changed another number of rows.
    Miscounted {
        /// What the caller vouched for.
        expected: u64,
        /// What the server counted.
        counted: u64,
    },
}

/// The first of the outstanding statements that failed.
#[derive(Debug)]
pub(super) struct Failure {
    /// What happened.
    pub(super) fault: Fault,
    /// What it takes with it.
    pub(super) scope: Scope,
}

impl Failure {
    /// Returns what the caller is told.
    pub(super) fn explain(self, connection: &Connection) -> StoreError {
        match self.fault {
            Fault::Refused(error) => connection.explain(error),
            Fault::Miscounted { expected, counted } => StoreError::RowCount { expected, counted },
        }
    }
}

/// The outstanding statements, in the order they were sent.
#[derive(Default)]
pub(super) struct Pipeline {
    pending: VecDeque<Pending>,
    bytes: usize,
}

struct Pending {
    answer: Sent<u64>,
    rows: Rows,
    scope: Scope,
}

impl Pipeline {
    /// Takes a statement that was sent.
    pub(super) fn push(&mut self, answer: Sent<u64>, bytes: usize, rows: Rows, scope: Scope) {
        self.bytes = self.bytes.saturating_add(bytes);
        self.pending.push_back(Pending {
            answer,
            rows,
            scope,
        });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Tells whether the answers should be waited for before more is sent.
    pub(super) fn is_full(&self) -> bool {
        self.pending.len() >= PENDING_MAX || self.bytes >= PENDING_BYTES_MAX
    }

    /// Tells whether a row count is open in any statement but the last.
    pub(super) fn counts_before_last(&self) -> bool {
        let mut before_last = self.pending.iter().rev().skip(1);
        before_last.any(|pending| matches!(pending.rows, Rows::Exactly(_)))
    }

    /// Forgets the answers; the driver reads and drops them.
    pub(super) fn clear(&mut self) {
        self.pending.clear();
        self.bytes = 0;
    }

    /// Waits for all answers and returns the first failure.
    ///
    /// To the last one even then: those after the first only say that the transaction failed.
    pub(super) async fn check(&mut self) -> Result<(), Failure> {
        self.bytes = 0;
        let mut first = Ok(());
        while let Some(pending) = self.pending.pop_front() {
            let Pending {
                answer,
                rows,
                scope,
            } = pending;
            let checked = match (answer.await, rows) {
                (Err(error), _) => Err(Fault::Refused(error)),
                (Ok(counted), Rows::Exactly(expected)) if counted != expected => {
                    Err(Fault::Miscounted { expected, counted })
                }
                (Ok(_), Rows::Exactly(_) | Rows::Any) => Ok(()),
            };
            if first.is_ok() {
                first = checked.map_err(|fault| Failure { fault, scope });
            }
        }
        first
    }
}
