//! State: what agents keep between turns, as JSON under a key of a scope.
//!
//! A key's versions rise by one and are never given out twice: what ends leaves its row behind, so
//! that somebody who read before cannot overwrite what was saved after (G3).

mod apply;
pub mod clear;
pub mod delete;
pub(crate) mod due;
pub mod event;
pub mod list;
pub mod load;
pub mod save;
pub mod scopes;
mod table;
mod value;

pub use clear::ClearState;
pub use delete::DeleteState;
pub use list::ListState;
pub use load::LoadState;
pub use save::SaveState;
pub use scopes::ListScopes;
pub use table::{Scope, State};
pub use value::Given;
