//! What client programs ask before they let an agent go on.
//!
//! `edit` reads what a client program says of an edit, `identity` finds who is about to make it,
//! `pre_edit` takes the lease of the file or says why not, and `verdict` is the answer.

mod edit;
mod identity;
mod pre_edit;
mod verdict;

pub(crate) use pre_edit::pre_edit;
pub(crate) use verdict::Verdict;
