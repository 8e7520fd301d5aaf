//! The two engines, and the threads that own their connections.
//!
//! `engine` says what the kernel asks of a database; `sqlite` and `postgres` answer. `writer` is
//! the only thread that changes anything, `readers` run queries on snapshots, `queue` is what
//! stands before the writer, `migrate` brings a database to this program's schema. `recording`
//! listens to the write connection, for tests and benchmarks.

#[cfg(feature = "testing")]
pub mod recording;

mod engine;
mod error;
mod value;

pub(crate) mod job;
pub(crate) mod migrate;
pub(crate) mod postgres;
pub(crate) mod queue;
pub(crate) mod readers;
pub mod search;
pub(crate) mod sqlite;
pub(crate) mod writer;

pub use engine::{Head, ReadEngine, Rows, Session, Visit, WriteEngine};
pub use error::{Cause, CommitError, StoreError};
pub use migrate::{MIGRATIONS, Migration};
#[cfg(any(test, feature = "testing"))]
pub use postgres::drop_schema;
pub use postgres::{PostgresTarget, RoundTrips, TargetError};
pub use sqlite::SqliteFile;
pub use value::{FromValue, Param, Row, Value};
