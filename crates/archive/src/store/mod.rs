//! The archive: a bare Git repository that says what the log says, readable by a person.
//!
//! `place` names its files and `render` writes them, messages as a `letter` and dispatches as an
//! `assignment`, both with the head that `front` writes; `line` writes the log itself, `message` the
//! commits; all of these are functions of a piece of the log. `import` hands a commit to
//! `git fast-import`, `leftovers` clears what a killed one left, `repository` puts both together, and
//! `archiver` follows the log. `contents` reads one back, for `verify`, `restore` and `keeper`, which
//! answers for it. `past` reads its log where the database has no more of it, and `whole` puts both
//! together. `lost` compares the ends of archive and database.

mod archiver;
mod assignment;
mod contents;
mod error;
mod front;
mod import;
mod keeper;
mod leftovers;
mod letter;
mod line;
mod lost;
mod message;
mod past;
mod place;
mod render;
mod repository;
mod restore;
mod verify;
mod whole;

pub use archiver::{Archiver, Cut, Settings};
pub use assignment::Assignment;
pub use error::ArchiveError;
pub use letter::Letter;
pub use lost::{Behind, End};
pub use past::Past;
pub use restore::restore;
