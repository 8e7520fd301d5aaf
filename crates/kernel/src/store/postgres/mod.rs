//! The PostgreSQL engine: one schema is one workspace, shared by several servers.
//!
//! `target` reads the address and `settings` says what every session must run under; `connection`
//! drives one session from synchronous code. `write` is the writer's engine: it sends statements
//! without waiting (`pipeline`), remembers what failed (`transaction`) and proves that it may commit
//! (`commit`, L4).
//! `read` answers queries on snapshots, `listen` hears of other servers' commits, `schema` brings
//! a workspace to this program's version. `fault` turns SQLSTATEs into our errors, `bind` our
//! values into PostgreSQL's, `placeholder` our statements into its dialect.

mod bind;
mod commit;
mod connection;
mod fault;
mod head;
mod listen;
mod pipeline;
mod placeholder;
mod read;
mod round_trips;
mod rows;
mod savepoint;
mod schema;
mod search;
mod settings;
mod target;
mod transaction;
mod write;

#[cfg(test)]
mod tests;

pub(crate) use listen::Listener;
pub(crate) use read::PostgresReader;
pub use round_trips::RoundTrips;
#[cfg(any(test, feature = "testing"))]
pub use schema::drop_schema;
pub(crate) use schema::{Fresh, MigrateError, migrate};
pub use target::{PostgresTarget, TargetError};
pub(crate) use write::PostgresWriter;
