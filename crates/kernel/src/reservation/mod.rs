//! Leases on files: who may write what, until when.
//!
//! `conflict` is the one function that says what is in the way; reserving, checking and the guard
//! all ask it, the first inside the transaction that grants (F1). `index` keeps the patterns of
//! open leases in memory; rows are always read from the table. The other files are one operation
//! each. Named locks (`crate::lock`) are rows of the same table and end the same ways.

pub mod answer_release;
mod apply;
pub(crate) mod audit;
pub mod check;
pub mod conflict;
pub mod event;
mod files;
pub mod force;
pub mod get;
pub mod guard;
pub(crate) mod held;
pub(crate) mod index;
pub mod list;
pub mod release;
pub mod renew;
pub mod request;
pub mod request_release;
pub mod reserve;
pub mod sweep;
pub mod table;

pub use answer_release::AnswerRelease;
pub use check::CheckFiles;
pub use conflict::Conflict;
pub use force::ForceRelease;
pub use get::GetReservation;
pub use guard::GuardCheck;
pub use list::ListReservations;
pub use release::Release;
pub use renew::Renew;
pub use request::ReleaseRequest;
pub use request_release::RequestRelease;
pub use reserve::ReserveFiles;
pub use table::Reservation;

use comity_domain::Prose;
use comity_domain::limits::TASK_BYTES_MAX;

/// Why somebody holds something, or wants it.
pub type Reason = Prose<TASK_BYTES_MAX>;
