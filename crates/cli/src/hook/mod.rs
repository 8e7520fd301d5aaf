//! What client programs ask before they let an agent go on.
//!
//! `edit` reads what a client program says of an edit, `identity` finds who is about to make it and
//! `files` where, `pre_edit` asks who holds the files, `plan` takes their leases, and `verdict` is the
//! answer.

mod edit;
mod files;
mod identity;
mod plan;
mod pre_edit;
mod verdict;

pub(crate) use pre_edit::pre_edit;
pub(crate) use verdict::Verdict;
