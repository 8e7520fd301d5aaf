//! SQLite: the only folder that opens `comity.db`.
//!
//! `file` opens, copies and checks; `write` is the one write connection, which `late` opens when it is
//! needed, `read` the others; `statement` binds values, reads rows and classifies errors, `search` is FTS5.

mod file;
mod late;
mod read;
mod search;
mod statement;
mod write;

pub use file::SqliteFile;
pub(crate) use file::{APPLICATION_ID, open_copy};
pub(crate) use late::LateWriter;
pub(crate) use read::SqliteReader;
pub(crate) use statement::classify;
pub(crate) use write::SqliteWriter;
