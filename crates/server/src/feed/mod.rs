//! Live feeds: what is committed, to everybody who may see it, in order (I7).
//!
//! One task, `tail`, follows the log and tells what is new in the `hub`, each event decoded once
//! (`fed`). Whoever follows has a `follower`: it reads the log from its own place with its own
//! credential until it has caught up, listens to the hub from there, and goes back to the log
//! whenever it missed something. So nothing is kept for a client but its place, and a slow one holds
//! up nobody. `sse` and `socket` are the two ways to follow.

mod ask;
pub(crate) mod describe;
mod fed;
mod follower;
mod frame;
mod hub;
mod socket;
mod sse;
mod tail;

pub(crate) use hub::Hub;
pub(crate) use socket::open as open_socket;
pub(crate) use sse::stream;
pub(crate) use tail::run as tail;
