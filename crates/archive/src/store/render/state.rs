//! The file of a large value.

use comity_kernel::state::event::{Content as Saved, StateSaved};

use super::Content;
use crate::store::place;

/// Renders a value that the log has by its hash alone; a small one stands in the log.
pub(super) fn file(saved: &StateSaved) -> Option<(String, Content)> {
    match &saved.content {
        Saved::Value(_) => None,
        Saved::Sha256(sha256) => Some((place::attachment(sha256), Content::Blob(*sha256))),
    }
}
