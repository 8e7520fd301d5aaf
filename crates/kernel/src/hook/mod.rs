//! Hooks: events told to services and programs elsewhere, at least once and in order per subject.
//!
//! That there is a hook is on the log. How far it has come is off it, like everything that says
//! where a consumer stands: `cursor` keeps the place and the secret, `queue` the events that wait or
//! were given up, `deliverer` which server tells them. The telling itself is the server's.

pub mod add;
mod apply;
pub(crate) mod cursor;
pub mod dead_letters;
pub mod deliverer;
pub mod event;
pub mod list;
pub mod queue;
pub mod remove;
pub mod retry;
pub mod standing;
pub(crate) mod table;
pub mod work;

pub use add::{AddHook, AddedHook};
pub use dead_letters::{DeadLetter, DeadLetters};
pub use list::ListHooks;
pub use remove::RemoveHook;
pub use retry::RetryDeadLetter;
pub use table::{Hook, HookState};
