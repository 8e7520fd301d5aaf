//! What people see: tables, entities, times, and text that cannot harm a terminal.

mod ago;
mod harmless;
mod view;

pub(crate) use ago::ago;
pub(crate) use harmless::{harmless, harmless_json};
pub(crate) use view::{Column, Look, Shown, View};
