//! `comity renew`.

use clap::Args;
use comity_domain::{ReservationId, Seq, Ttl};
use comity_kernel::Command as _;
use comity_kernel::reservation::Renew as Request;

use crate::failure::Failure;
use crate::parse::{json, text};
use crate::session::Context;
use crate::show::{Shown, View, leases};

/// Keeps leases longer.
#[derive(Args)]
#[command(
    after_help = "A lease is never shortened, and one that has ended is not renewed: reserve it again.\n\
    Example: comity renew --all --ttl 1h"
)]
pub(crate) struct Renew {
    /// The leases' numbers.
    #[arg(value_name = "ID", required_unless_present = "all", value_parser = json::<ReservationId>)]
    ids: Vec<ReservationId>,
    /// Everything you hold.
    #[arg(long, conflicts_with = "ids")]
    all: bool,
    /// How long from now, such as `45m`: 30 minutes unless given, at most 24 h.
    #[arg(long, value_name = "TIME", value_parser = text::<Ttl>)]
    ttl: Option<Ttl>,
    /// The fence you know; another one is refused.
    #[arg(long, value_name = "N", value_parser = json::<Seq>)]
    fence: Option<Seq>,
}

impl Renew {
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = Request {
            ids: self.ids.clone(),
            all: self.all,
            ttl: self.ttl,
            fence: self.fence,
        };
        let answer = context.session()?.call(Request::NAME, &request)?;
        let text = leases::held(&answer);
        Ok(Shown::new(answer, View::Text(text)))
    }
}
