//! `create_run`.

use std::collections::BTreeMap;

use comity_domain::{Chain, Gates, RunId};
use comity_kernel::Error;
use comity_kernel::run::create::ChildRun;
use comity_kernel::run::{AgentKind, Words};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Own;
use super::run;
use super::untrusted::Marks;

/// Begins a run: work that moves through phases on evidence.
///
/// Without `phases` it has the standard chain with built-in gates. A chain of your own needs `gates`
/// for every step: `{"a->b": [{"check": "artifact_exists", "phase": "a"}], "b->c": []}`.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateRun {
    /// What it is for.
    goal: Words,
    /// Its phases in their order; the last one completes it.
    #[serde(default)]
    phases: Option<Chain>,
    /// The checks of every step `from->to`; `[]` lets it pass.
    #[serde(default)]
    gates: Option<Gates>,
    /// How many tokens it and everything below it may use.
    #[serde(default)]
    token_budget: Option<i64>,
    /// Hand out no more work, and do not move, once they are used.
    #[serde(default)]
    budget_enforced: bool,
    /// How many dispatches of it may be in hand at a time.
    #[serde(default)]
    max_dispatches: Option<i64>,
    /// The same for kinds of agent: `{"reviewer": 2}`.
    #[serde(default)]
    max_per_kind: BTreeMap<AgentKind, i64>,
    /// The run it is a part of.
    #[serde(default)]
    parent: Option<RunId>,
    /// Runs that are parts of it, created with it or not at all.
    #[serde(default)]
    children: Vec<ChildRun>,
    /// Your own data.
    #[serde(default)]
    metadata: BTreeMap<String, Value>,
}

impl Own for CreateRun {
    const NAME: &'static str = "create_run";

    fn plan(self) -> Result<(&'static str, Value), Error> {
        Ok(("create_run", serde_json::to_value(&self)?))
    }

    fn lean(answer: Value, marks: &Marks) -> Value {
        run::changed(&answer, marks)
    }
}
