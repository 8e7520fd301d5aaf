//! What people see: tables, entities, messages, leases, times, and text that cannot harm a terminal.

mod ago;
mod conversation;
mod field;
mod harmless;
pub(crate) mod leases;
mod letter;
pub(crate) mod listing;
mod view;
mod words;

pub(crate) use ago::{ago, length};
pub(crate) use conversation::{conversation, summary};
pub(crate) use field::{field, names};
pub(crate) use harmless::{harmless, harmless_json};
pub(crate) use letter::letter;
pub(crate) use view::{Column, Look, Shown, View};
