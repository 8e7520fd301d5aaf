//! `comity discovery list` and `show`.

use clap::Args;
use comity_domain::{DiscoveryOrder, DiscoveryState, DiscoveryTier, Score};
use comity_kernel::Query as _;
use comity_kernel::discovery::list::Behind;
use comity_kernel::discovery::{GetDiscovery, ListDiscoveries, Source};
use comity_kernel::page::Limit;

use super::Named;
use crate::failure::Failure;
use crate::parse::{json, text, word};
use crate::session::Context;
use crate::show::{Shown, View, discoveries};

pub(super) const STATES: &[&str] = &["new", "scored", "promoted", "dismissed"];
pub(super) const TIERS: &[&str] = &["high", "medium", "low", "discard"];

/// Lists discoveries.
#[derive(Args)]
pub(crate) struct List {
    /// Only those in this state.
    #[arg(long, value_name = "STATE", value_parser = word::<DiscoveryState>(STATES))]
    state: Option<DiscoveryState>,
    /// Only those of this tier.
    #[arg(long, value_name = "TIER", value_parser = word::<DiscoveryTier>(TIERS))]
    tier: Option<DiscoveryTier>,
    /// Only those of this source.
    #[arg(long, value_parser = text::<Source>)]
    source: Option<Source>,
    /// Only those worth at least this.
    #[arg(long, value_name = "0..1", value_parser = json::<Score>)]
    min_score: Option<Score>,
    /// The newest first, or the best; by score those that have none are left out.
    #[arg(long, value_name = "ORDER", value_parser = word::<DiscoveryOrder>(&["newest", "score"]))]
    order: Option<DiscoveryOrder>,
    /// How many at most.
    #[arg(long, value_name = "N", value_parser = json::<Limit>)]
    limit: Option<Limit>,
    /// The `next` of the page before, in the same order.
    #[arg(long, value_name = "NEXT", value_parser = text::<Behind>)]
    after: Option<Behind>,
}

impl List {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let request = ListDiscoveries {
            project: session.project()?,
            state: self.state,
            tier: self.tier,
            source: self.source.clone(),
            min_score: self.min_score,
            order: self.order,
            limit: self.limit.unwrap_or_default(),
            after: self.after,
        };
        let answer = session.call(ListDiscoveries::NAME, &request)?;
        let text = discoveries::page(&answer);
        Ok(Shown::new(answer, View::Text(text)))
    }
}

/// Shows one discovery.
pub(super) fn show(named: &Named, context: &Context<'_>) -> Result<Shown, Failure> {
    let request = GetDiscovery { id: named.id };
    let answer = context.session()?.call(GetDiscovery::NAME, &request)?;
    let text = discoveries::whole(&answer);
    Ok(Shown::new(answer, View::Text(text)))
}
