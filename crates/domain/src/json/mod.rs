//! Reads JSON requests strictly, with errors that say what to change.
//!
//! [`parse`] turns bytes into a value and refuses whatever two readers could understand
//! differently; [`decode`] turns the value into a request and names the field at fault.

mod access;
mod decode;
mod echo;
mod error;
mod parse;

pub use decode::decode;
pub use error::FieldError;
pub use parse::{MAX_VALUES, NotJson, parse};
