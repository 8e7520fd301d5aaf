//! The one way to an operation: the database itself, the socket of its server, or a URL.
//!
//! `open` decides between them. `embedded` opens the kernel in this process, `served` speaks HTTP
//! to an `address`, `request` writes a request from what the registry says of an operation, `carry`
//! sends it, `content` is its body, `resting` answers for an archive that no server writes, and `tags` are what calls carry beside it. `remember` keeps an
//! agent's file of leases in step with the answers.

mod address;
mod carry;
mod content;
mod embedded;
mod open;
mod remember;
mod request;
mod resting;
mod served;
mod tags;

pub(crate) use embedded::{WhenLost, open_alone};
pub(crate) use open::{Door, runtime};
pub(crate) use tags::Tags;
