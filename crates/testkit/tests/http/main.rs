//! The HTTP surface, through real sockets: who may call what, what is answered, and what hostile
//! callers, crowds and stops do to it.
//!
//! Facts that the database takes part in are tested on both engines. The rest ends before the
//! kernel is asked; SQLite alone stands behind it.

mod answers;
mod archive;
mod bodies;
mod crowd;
mod descriptors;
mod discoveries;
mod feeds;
mod heads;
mod hooks;
mod log_calls;
mod origins;
mod pages;
mod rates;
mod rights;
mod runs;
mod secrets;
mod state;
mod stop;
mod strangers;
mod town;
mod vectors;
