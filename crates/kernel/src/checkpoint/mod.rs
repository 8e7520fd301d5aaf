//! Pruning: the oldest part of the log is left to the archive alone, and a checkpoint says what it
//! came to.
//!
//! `plan` finds out who still needs it, `prune` proves that the archive has it and writes the
//! checkpoint, `piece` removes the events bit by bit. `history` is how whoever needs the whole log
//! reads what is in the archive alone.

mod apply;
pub mod event;
pub mod history;
mod piece;
mod plan;
pub mod prune;
pub mod table;

pub use history::History;
pub(crate) use piece::{IsLeft, PrunePiece};
pub use plan::{Obstacle, Plan, PlanPrune};
pub use prune::{Prune, PruneLog, Pruned};
pub use table::Checkpoint;
