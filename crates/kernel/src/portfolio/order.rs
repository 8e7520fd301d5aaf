//! The order in which the runs of a portfolio can be done.

use comity_domain::RunId;
use comity_domain::order::topological;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::table::upstream_ids;
use crate::actor::{Actor, Party};
use crate::error::{Error, Impossible};
use crate::query::Query;
use crate::run::table::{self as run_table, Run};
use crate::tx::{Read, Snapshot};

/// Orders everything below a run so that each comes after what it waits for, by number where the
/// order is free.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PortfolioOrder {
    /// The run's number.
    pub run: RunId,
}

/// The order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ordered {
    /// The runs below it, each after what it waits for.
    pub order: Vec<RunId>,
}

impl Query for PortfolioOrder {
    const NAME: &'static str = "portfolio_order";
    const WHO: &'static [Party] = &[Party::Orchestrator, Party::Operator, Party::Observer];
    type Answer = Ordered;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Ordered, Error> {
        let run = run_table::visible(snapshot, actor, self.run)?;
        let mut below = run_table::subtree(snapshot, run.id)?;
        below.remove(0);
        Ok(Ordered {
            order: order(snapshot, &below)?,
        })
    }
}

/// Orders runs by what they wait for.
pub(super) fn order(read: &mut impl Read, runs: &[Run]) -> Result<Vec<RunId>, Error> {
    let mut links = Vec::new();
    for run in runs {
        let upstreams = upstream_ids(read, run.id)?;
        links.extend(upstreams.into_iter().map(|upstream| (upstream, run.id)));
    }
    let ids: Vec<_> = runs.iter().map(|run| run.id).collect();
    topological(&ids, &links)
        .ok_or_else(|| Error::internal(Impossible("runs wait for each other in a circle")))
}
