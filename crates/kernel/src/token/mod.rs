//! Tokens: what a caller presents, and how it is checked.

mod apply;
pub mod authenticate;
pub mod create;
pub mod event;
pub mod list;
pub mod revoke;
pub mod table;

pub use authenticate::Authenticate;
pub use create::{CreateToken, MadeToken};
pub use list::ListTokens;
pub use revoke::{RevokeToken, RevokedToken};
pub use table::Token;
