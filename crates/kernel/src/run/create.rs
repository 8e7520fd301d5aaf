//! Creates a run, with its children if it has some.

use std::collections::BTreeMap;

use comity_domain::limits::{
    AGENT_KINDS_MAX, CHILDREN_PER_CALL_MAX, IN_HAND_MAX, METADATA_BYTES_MAX, PORTFOLIO_DEPTH_MAX,
    PORTFOLIO_RUNS_MAX, TOKENS_MAX,
};
use comity_domain::{Chain, Gates, ProjectId, RunId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::event::RunCreated;
use super::table::{self, AgentKind, Run};
use super::{Words, changed};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::error::Error;
use crate::project::table::{self as project_table, ProjectRef};
use crate::reservation::held::holder;
use crate::tx::{Read, WriteTx};

/// Creates a run in its first phase.
///
/// Without `phases` it has the standard chain with its built-in gates. A chain of your own needs
/// `gates` for every step, `{"a->b": [{"check": "artifact_exists", "phase": "a"}], "b->c": []}`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateRun {
    /// The project's key or slug; an agent's own unless given.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// What it is for.
    pub goal: Words,
    /// Its phases in their order, 2 to 64; the last one completes it.
    #[serde(default)]
    pub phases: Option<Chain>,
    /// The checks of every step `from->to`; `[]` lets it pass.
    #[serde(default)]
    pub gates: Option<Gates>,
    /// How many tokens it and everything below it may use.
    #[serde(default)]
    pub token_budget: Option<i64>,
    /// Whether work is handed out no more, and the run moves no more, once they are used.
    #[serde(default)]
    pub budget_enforced: bool,
    /// How many dispatches of it and everything below it may be in hand at a time.
    #[serde(default)]
    pub max_dispatches: Option<i64>,
    /// The same for kinds of agent: `{"reviewer": 2}`.
    #[serde(default)]
    pub max_per_kind: BTreeMap<AgentKind, i64>,
    /// The run it is a part of.
    #[serde(default)]
    pub parent: Option<RunId>,
    /// Runs that are parts of it, created with it or not at all.
    #[serde(default)]
    pub children: Vec<ChildRun>,
    /// Your own data.
    #[serde(default)]
    pub metadata: BTreeMap<String, Value>,
}

/// A run that is created as a part of another.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChildRun {
    /// The project's key or slug; the parent's unless given. Another one is for the operator to
    /// name.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// What it is for.
    pub goal: Words,
    /// Its phases in their order.
    #[serde(default)]
    pub phases: Option<Chain>,
    /// The checks of every step.
    #[serde(default)]
    pub gates: Option<Gates>,
    /// How many tokens it may use.
    #[serde(default)]
    pub token_budget: Option<i64>,
    /// Whether that is enforced.
    #[serde(default)]
    pub budget_enforced: bool,
    /// How many dispatches of it may be in hand at a time.
    #[serde(default)]
    pub max_dispatches: Option<i64>,
    /// The same for kinds of agent.
    #[serde(default)]
    pub max_per_kind: BTreeMap<AgentKind, i64>,
    /// Your own data.
    #[serde(default)]
    pub metadata: BTreeMap<String, Value>,
}

/// The run, and its children.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CreatedRun {
    /// The run.
    pub run: Run,
    /// Its children that were created with it.
    pub children: Vec<Run>,
}

impl Command for CreateRun {
    const NAME: &'static str = "create_run";
    const WHO: &'static [Party] = &[Party::Orchestrator, Party::Operator];
    type Answer = CreatedRun;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<CreatedRun, Stop> {
        let actor = tx.actor().clone();
        let project = project_table::resolve(tx, &actor, self.project.as_ref())?.id;
        if self.children.len() > CHILDREN_PER_CALL_MAX {
            let rule = format!("must be at most {CHILDREN_PER_CALL_MAX}");
            return Err(Error::invalid("children", rule).into());
        }
        if let Some(parent) = self.parent {
            let parent = table::visible(tx, &actor, parent)?;
            parent.must_be_live()?;
            must_fit(tx, &parent, 1 + self.children.len())?;
        }
        let id = create(tx, project, self.parent, &self.plan(), "")?;
        let mut children = Vec::new();
        for (at, child) in self.children.iter().enumerate() {
            let project = match &child.project {
                Some(named) => project_table::resolve(tx, &actor, Some(named))?.id,
                None => project,
            };
            let within = format!("children[{at}].");
            children.push(create(tx, project, Some(id), child, &within)?);
        }
        let children = children.into_iter().map(|id| changed(tx, id));
        let children = children.collect::<Result<_, _>>()?;
        Ok(CreatedRun {
            run: changed(tx, id)?,
            children,
        })
    }
}

impl CreateRun {
    /// Returns what it says of the run itself, which is what it says of a child.
    fn plan(&self) -> ChildRun {
        ChildRun {
            project: self.project.clone(),
            goal: self.goal.clone(),
            phases: self.phases.clone(),
            gates: self.gates.clone(),
            token_budget: self.token_budget,
            budget_enforced: self.budget_enforced,
            max_dispatches: self.max_dispatches,
            max_per_kind: self.max_per_kind.clone(),
            metadata: self.metadata.clone(),
        }
    }
}

impl ChildRun {
    /// Checks it and fills in what it leaves out; `within` is where it stands in the request.
    fn checked(&self, within: &str) -> Result<Planned, Error> {
        let field = |name: &str| format!("{within}{name}");
        check_tokens(&field("token_budget"), self.token_budget)?;
        check_in_hand(&field("max_dispatches"), self.max_dispatches)?;
        if self.max_per_kind.len() > AGENT_KINDS_MAX {
            let rule = format!("must name at most {AGENT_KINDS_MAX} kinds");
            return Err(Error::invalid(field("max_per_kind"), rule));
        }
        for most in self.max_per_kind.values() {
            check_in_hand(&field("max_per_kind"), Some(*most))?;
        }
        if self.budget_enforced && self.token_budget.is_none() {
            let rule = "needs a `token_budget`";
            return Err(Error::invalid(field("budget_enforced"), rule));
        }
        let phases = self.phases.clone().unwrap_or_else(Chain::standard);
        let gates = match &self.gates {
            Some(gates) => gates.clone(),
            None if phases == Chain::standard() => Gates::standard(),
            None => {
                let rule = "must name every step of a chain of your own; `[]` lets a step pass";
                return Err(Error::invalid(field("gates"), rule));
            }
        };
        let fits = gates.fit(&phases);
        fits.map_err(|rule| Error::invalid(field("gates"), rule))?;
        let metadata = check_metadata(&field("metadata"), self.metadata.clone())?;
        Ok(Planned {
            phases,
            gates,
            metadata,
        })
    }
}

/// What a run is to be, as far as its creator need not say it.
struct Planned {
    phases: Chain,
    gates: Gates,
    metadata: Map<String, Value>,
}

/// Creates one run.
fn create(
    tx: &mut WriteTx<'_, '_>,
    project: ProjectId,
    parent: Option<RunId>,
    plan: &ChildRun,
    within: &str,
) -> Result<RunId, Error> {
    let Planned {
        phases,
        gates,
        metadata,
    } = plan.checked(within)?;
    let id = table::next_id(tx)?;
    let by = holder(tx.actor());
    let kinds = plan.max_per_kind.iter();
    tx.emit(RunCreated {
        id,
        project,
        parent,
        goal: plan.goal.to_string(),
        phases,
        gates,
        token_budget: plan.token_budget,
        budget_enforced: plan.budget_enforced,
        max_dispatches: plan.max_dispatches,
        max_per_kind: kinds
            .map(|(kind, most)| (kind.to_string(), *most))
            .collect(),
        metadata,
        by,
    })?;
    Ok(id)
}

/// Refuses more runs below one than can be cancelled in one command.
fn must_fit(read: &mut impl Read, parent: &Run, more: usize) -> Result<(), Error> {
    let above = table::ancestors(read, parent)?;
    if above.len() + 1 >= PORTFOLIO_DEPTH_MAX {
        return Err(Error::LimitExceeded {
            what: "the depth of a portfolio",
            limit: PORTFOLIO_DEPTH_MAX as u64,
        });
    }
    let root = above.last().unwrap_or(parent);
    let more = i64::try_from(more).unwrap_or(i64::MAX);
    if table::count_below(read, root.id)?.saturating_add(more) > PORTFOLIO_RUNS_MAX {
        return Err(Error::LimitExceeded {
            what: "the number of runs of one portfolio",
            limit: PORTFOLIO_RUNS_MAX.unsigned_abs(),
        });
    }
    Ok(())
}

/// Refuses an impossible number of tokens.
pub(super) fn check_tokens(field: &str, tokens: Option<i64>) -> Result<(), Error> {
    match tokens {
        Some(tokens) if !(0..=TOKENS_MAX).contains(&tokens) => Err(Error::invalid(
            field,
            format!("must be between 0 and {TOKENS_MAX}"),
        )),
        _ => Ok(()),
    }
}

/// Refuses an impossible number of dispatches in hand.
pub(super) fn check_in_hand(field: &str, most: Option<i64>) -> Result<(), Error> {
    match most {
        Some(most) if !(1..=IN_HAND_MAX).contains(&most) => Err(Error::invalid(
            field,
            format!("must be between 1 and {IN_HAND_MAX}"),
        )),
        _ => Ok(()),
    }
}

/// Refuses more of the caller's own data than is kept.
pub(super) fn check_metadata(
    field: &str,
    metadata: impl IntoIterator<Item = (String, Value)>,
) -> Result<Map<String, Value>, Error> {
    let metadata = Map::from_iter(metadata);
    let bytes = serde_json::to_string(&metadata)?.len();
    if bytes > METADATA_BYTES_MAX {
        let rule = format!("must be at most {METADATA_BYTES_MAX} bytes of JSON, not {bytes}");
        return Err(Error::invalid(field, rule));
    }
    Ok(metadata)
}
