//! Named locks: leases on a name, for ports, test runners and databases.
//!
//! They are rows of the same table as leases on files, and end the same ways.

pub mod acquire;
pub mod list;
pub mod release;
pub mod renew;
pub(crate) mod table;

pub use acquire::AcquireLock;
pub use list::ListLocks;
pub use release::ReleaseLock;
pub use renew::RenewLock;
pub use table::Lock;

use comity_domain::Line;
use comity_domain::limits::LABEL_BYTES_MAX;

/// What a lock or sentinel is called.
pub type Name = Line<LABEL_BYTES_MAX>;
