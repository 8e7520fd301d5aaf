//! Full-text search without an engine: what a token is, what a query means, what is shown of a hit.
//!
//! Both engines index the tokens made here and look for the terms parsed here, so both find the
//! same texts, and no text of a user ever reaches an engine's own query language (S8).
//! [`Query::matches`] is the meaning of a query; the engines are tested against it.
//!
//! What a token is hangs on the Unicode tables of the compiler and of two crates. When one of them
//! moves to a later Unicode version, rare characters may fold differently from what is already in
//! an index; rebuilding the index mends it.

mod fold;
mod grammar;
mod query;
mod snippet;
mod token;

pub use query::{Field, Query, Sign, Term};
pub use snippet::snippet;
pub use token::{Indexed, indexed, tokens};
