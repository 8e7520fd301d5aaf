//! Dispatches: work handed to whoever claims it, settled once and for ever.

pub(crate) mod apply;
pub(crate) mod audit;
pub mod cancel;
mod candidate;
pub mod claim;
mod claimant;
pub mod create;
pub(crate) mod due;
pub mod event;
pub mod extend;
pub mod finish;
pub mod get;
pub mod group;
pub mod in_hand;
pub mod list;
mod load;
pub mod report;
pub mod retry;
pub mod start;
pub(crate) mod table;

pub use cancel::CancelDispatch;
pub use claim::ClaimDispatch;
pub use create::CreateDispatch;
pub use extend::ExtendDispatch;
pub use finish::FinishDispatch;
pub use get::GetDispatch;
pub use group::GroupOutcome;
pub use list::ListDispatches;
pub use report::ReportDispatch;
pub use retry::RetryDispatch;
pub use start::StartDispatch;
pub use table::Dispatch;

use comity_domain::Line;
use comity_domain::limits::LABEL_BYTES_MAX;

/// What the maker of dispatches counts some of them with.
pub type Group = Line<LABEL_BYTES_MAX>;
