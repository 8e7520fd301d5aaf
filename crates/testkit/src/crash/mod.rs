//! Crashes: a kernel in a process of its own, killed, started again, and held to its word.
//!
//! A [`Harness`] feeds the program `driver` with a seeded stream of orders from several callers,
//! each order with its own idempotency key. It kills the program, starts it again and repeats
//! whatever was not answered. At the end a [`Ledger`] of the database must agree with every answer:
//! nothing lost, nothing doubled, each message in its boxes once and in order (B1, C1, C2, C3, fault 9).
//!
//! Read in this order: `target`, `workload`, `process`, `harness`, `ledger`.

mod harness;
mod ledger;
mod process;
mod target;
mod workload;

pub use harness::{Done, Harness, Moment, Summary};
pub use ledger::{Ledger, Verdict, wait};
pub use process::{Heard, Launch, PATIENCE, Process};
pub use target::{Target, is_upgraded, with_upgrade};
pub use workload::{KEEPER, Order, PROJECT, Workload};
