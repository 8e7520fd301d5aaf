//! The guard: asks before Git writes what somebody else holds (3.11).
//!
//! `hook` names the moments at which Git asks, `changes` finds the paths that an action writes, and
//! `links` the other names of those paths. `script` is what Git runs, `folder` the directory where it
//! looks for that, and `hooks` puts it there and takes it away; `earlier` runs what was there before.

mod changes;
mod earlier;
mod folder;
mod hook;
mod hooks;
mod links;
mod script;

pub use changes::{ChangesError, changes, writes};
pub use earlier::run_earlier;
pub use folder::{Folder, FolderError};
pub use hook::Hook;
pub use hooks::{Done, HookError, Hooks, State};
pub use links::real_names;
pub use script::{Away, Script, earlier};
