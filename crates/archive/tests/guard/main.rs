//! The guard on real repositories, with the machine's own `git`.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod chaining;
mod committed;
mod folders;
mod hostile;
mod place;
mod probe;
mod references;
