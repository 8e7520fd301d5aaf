//! Tells how the runs of a portfolio stand.

use std::collections::BTreeMap;

use comity_domain::{Phase, RunId, RunState, Slug};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::order::order;
use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::gate::Examined;
use crate::gate::evaluate;
use crate::query::Query;
use crate::run::table::{self as run_table, Run};
use crate::tx::{Read, Snapshot};

/// Tells how a run and everything below it stand: where each is, what it waits for, what it used.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetPortfolioStatus {
    /// The run's number.
    pub run: RunId,
}

/// How the runs of a portfolio stand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PortfolioStatus {
    /// The run at the top.
    pub run: Standing,
    /// Everything below it, each after what it waits for.
    pub children: Vec<Standing>,
}

/// How one of them stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Standing {
    /// Its number.
    pub id: RunId,
    /// The run it is a part of.
    pub parent: Option<RunId>,
    /// The project's slug.
    pub project: Slug,
    /// What it is for; empty for those who do not see its project.
    pub goal: String,
    /// The phase it is in.
    pub phase: Phase,
    /// Where it stands.
    pub state: RunState,
    /// The runs it waits for that are not completed.
    pub waits_for: Vec<RunId>,
    /// What its gate lacks, in words; empty when it may move on, or does not go on.
    pub lacks: Vec<String>,
    /// How many tokens it and everything below it used.
    pub tokens_used: i64,
    /// How many they may use.
    pub token_budget: Option<i64>,
}

impl Query for GetPortfolioStatus {
    const NAME: &'static str = "portfolio_status";
    const WHO: &'static [Party] = &[Party::Orchestrator, Party::Operator, Party::Observer];
    type Answer = PortfolioStatus;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<PortfolioStatus, Error> {
        let run = run_table::visible(snapshot, actor, self.run)?;
        let all = run_table::subtree(snapshot, run.id)?;
        let used = used(&all);
        let below = all.get(1..).unwrap_or_default();
        let mut standings = BTreeMap::new();
        for one in below {
            let mut standing = standing(snapshot, one, &used)?;
            if actor.project().is_some_and(|own| own != one.project_id) {
                standing.conceal();
            }
            standings.insert(one.id, standing);
        }
        let ordered = order(snapshot, below)?.into_iter();
        Ok(PortfolioStatus {
            run: standing(snapshot, &run, &used)?,
            children: ordered.filter_map(|id| standings.remove(&id)).collect(),
        })
    }
}

impl Standing {
    /// Leaves what a parent's gate tells of a run of another project: where it is.
    fn conceal(&mut self) {
        self.goal.clear();
        self.lacks.clear();
        self.waits_for.clear();
    }
}

/// Adds up what each run and everything below it used; children come after their parents.
fn used(runs: &[Run]) -> BTreeMap<RunId, i64> {
    let mut used: BTreeMap<RunId, i64> = BTreeMap::new();
    for run in runs.iter().rev() {
        let own = used.entry(run.id).or_default();
        *own += run.tokens;
        let all = *own;
        if let Some(parent) = run.parent {
            *used.entry(parent).or_default() += all;
        }
    }
    used
}

fn standing(
    read: &mut impl Read,
    run: &Run,
    used: &BTreeMap<RunId, i64>,
) -> Result<Standing, Error> {
    let mut waits_for = run_table::upstreams(read, run.id)?;
    waits_for.retain(|upstream| upstream.state != RunState::Completed);
    let lacks = match run.state {
        RunState::Active => {
            let way = evaluate::way(read, run)?;
            let refusing = way.checks.into_iter().filter(Examined::refuses);
            refusing.map(|check| check.detail).collect()
        }
        _ => Vec::new(),
    };
    Ok(Standing {
        id: run.id,
        parent: run.parent,
        project: run.project.clone(),
        goal: run.goal.clone(),
        phase: run.phase.clone(),
        state: run.state,
        waits_for: waits_for.iter().map(|run| run.id).collect(),
        lacks,
        tokens_used: used.get(&run.id).copied().unwrap_or(run.tokens),
        token_budget: run.token_budget,
    })
}
