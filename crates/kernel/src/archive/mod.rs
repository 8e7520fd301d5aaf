//! The archive as the kernel knows it: where each one stands, what could not be written, and what
//! there is to write.
//!
//! The kernel runs no `git`. Whoever does attaches itself as an [`Archivist`], and the operations
//! about the archive are answered by it.

pub mod archivist;
pub mod batch;
pub mod export;
pub mod export_runs;
pub mod found;
pub mod handed_out;
pub mod position;
pub mod run_page;
pub mod status;

pub use archivist::{Archivist, Rebuilt, Retried, Verified};
pub use batch::{ArchiveBatch, Batch};
pub use export::{Export, Exported, Exporting};
pub use position::ArchiveId;
pub use status::{ArchiveState, ArchiveStatus, Quarantined};
