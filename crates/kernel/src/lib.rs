//! The coordination kernel of Comity: one log, one writer, two engines.
//!
//! A [`Command`] reads tables, decides and emits events; only an event's `apply` writes tables, in
//! the same transaction. A [`Query`] reads one snapshot. Everything else follows from the log.
//!
//! Read in this order: `command` and `query`, `tx`, `log`, `store`, then the aggregates
//! (`project`, `agent`, `token`), each a folder with its events, its SQL and one file per operation.

pub mod actor;
pub mod ambient;
pub mod command;
pub mod datadir;
pub mod doctor;
pub mod error;
pub mod failpoint;
mod follow;
pub mod kernel;
pub mod line;
pub mod log;
pub mod memory;
pub mod operation;
pub mod options;
pub mod page;
pub mod presence;
pub mod query;
pub mod store;
pub mod ticket;
pub mod transfer;
pub mod tx;

pub mod agent;
pub mod archive;
pub mod checkpoint;
pub mod consumer;
pub mod contact;
pub mod discovery;
pub mod dispatch;
pub mod embedder;
pub mod epoch;
pub mod event;
pub mod gate;
pub mod hook;
pub mod lock;
pub mod mail;
pub mod portfolio;
pub mod project;
pub mod redaction;
pub mod reservation;
pub mod run;
pub mod sentinel;
pub mod state;
pub mod stream;
pub mod token;

pub use actor::{Actor, Caller, Party};
pub use command::{Command, Stop};
pub use error::Error;
pub use kernel::{Kernel, Making, Step};
pub use options::{Options, Sharing};
pub use query::Query;
pub use ticket::{AsOf, Reply, Ticket};
