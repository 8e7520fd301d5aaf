//! The Git side of Comity: the only crate that runs `git`.
//!
//! It tells whether the machine's `git` can keep an archive.

pub mod git;

pub use git::{GitVersion, Unfit, check};
