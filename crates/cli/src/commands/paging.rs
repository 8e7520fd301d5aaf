//! Which part of a list is shown.

use clap::Args;
use comity_kernel::page::{After, Limit};

use crate::parse::{json, text};

/// Which part of a list is shown.
#[derive(Args)]
pub(crate) struct Paging {
    /// How many at most.
    #[arg(long, value_name = "N", value_parser = json::<Limit>)]
    limit: Option<Limit>,
    /// The `next` of the page before.
    #[arg(long, value_name = "NEXT", value_parser = text::<After>)]
    after: Option<After>,
}

impl Paging {
    /// Returns how many.
    pub(crate) fn limit(&self) -> Limit {
        self.limit.unwrap_or_default()
    }

    /// Returns where the page before ended.
    pub(crate) fn after(&self) -> After {
        self.after.unwrap_or_default()
    }
}
