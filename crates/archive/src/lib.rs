//! The Git side of Comity: the only crate that runs `git`.
//!
//! So far it tells whether the machine's `git` can keep an archive at all; the archive itself is
//! a later consumer of the log.

pub mod git;

pub use git::{GitVersion, Unfit, check};
