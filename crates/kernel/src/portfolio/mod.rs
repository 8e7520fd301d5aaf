//! Portfolios: runs that have children, and runs that wait for each other.

pub mod link;
pub mod order;
pub mod status;
mod table;
pub mod unlink;

pub use link::LinkRuns;
pub use order::PortfolioOrder;
pub use status::GetPortfolioStatus;
pub use unlink::UnlinkRuns;
