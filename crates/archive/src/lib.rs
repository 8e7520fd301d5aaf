//! The Git side of Comity: the only crate that runs `git`.
//!
//! `git` runs it, with nothing of anybody's configuration executed; `repository` finds out where one
//! lies, `store` keeps the archive, `export` writes mail as pages for a browser, and `guard` knows which paths an action of Git writes and how it is asked beforehand. `replace`
//! writes files whole or not at all, and `version` tells whether the machine's `git` will do.

mod bounded;
pub mod export;
mod git;
pub mod guard;
mod object_id;
mod replace;
mod repository;
pub mod store;
mod version;

pub use git::GitError;
pub use replace::replace;
pub use repository::Repository;
pub use version::{GitVersion, Unfit, check};
