//! What people see: tables, entities, messages, leases, runs, the archive, times, and text that cannot harm a terminal.

mod ago;
pub(crate) mod archive;
mod conversation;
pub(crate) mod discoveries;
pub(crate) mod dispatches;
pub(crate) mod events;
pub(crate) mod evidence;
mod field;
pub(crate) mod gates;
mod harmless;
pub(crate) mod leases;
mod letter;
pub(crate) mod listing;
pub(crate) mod portfolios;
pub(crate) mod runs;
pub(crate) mod timeline;
mod view;
mod words;

pub(crate) use ago::{ago, length};
pub(crate) use conversation::{conversation, summary};
pub(crate) use field::{field, names};
pub(crate) use harmless::{harmless, harmless_json};
pub(crate) use letter::letter;
pub(crate) use view::{Column, Look, Shown, View};
