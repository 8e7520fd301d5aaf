//! Tests of the language as a whole.

mod bombs;
mod brute_force;
mod folding;
mod hostile;
mod index;
mod naive;
mod pairs;
mod spellings;
mod wire;

use super::Pattern;

/// Reads a pattern that is known to be one.
fn pattern(text: &str) -> Pattern {
    Pattern::parse(text).unwrap_or_else(|rule| panic!("{text:?} {rule}"))
}
