//! Changes what can be changed of a run.

use std::collections::BTreeMap;

use comity_domain::{Change, RunId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::create::{check_in_hand, check_metadata, check_tokens};
use super::event::RunUpdated;
use super::table::{self, Run};
use super::{ChangedRun, Words, changed};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::project::update::check_revision;
use crate::tx::WriteTx;

/// Changes what is given and leaves the rest as it is; `null` takes a limit away.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateRun {
    /// The run's number.
    pub run: RunId,
    /// What it is for.
    #[serde(default)]
    pub goal: Option<Words>,
    /// Merged into your own data key by key; `null` removes a key.
    #[serde(default)]
    pub metadata: Option<BTreeMap<String, Value>>,
    /// How many tokens it and everything below it may use.
    #[serde(default, skip_serializing_if = "Change::is_keep")]
    pub token_budget: Change<i64>,
    /// How many dispatches of it and everything below it may be in hand at a time.
    #[serde(default, skip_serializing_if = "Change::is_keep")]
    pub max_dispatches: Change<i64>,
    /// The revision you read; another one now is refused.
    pub expected_revision: i64,
}

impl Command for UpdateRun {
    const NAME: &'static str = "update_run";
    const WHO: &'static [Party] = &[Party::Orchestrator, Party::Operator];
    type Answer = ChangedRun;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<ChangedRun, Stop> {
        let actor = tx.actor().clone();
        let run = table::visible(tx, &actor, self.run)?;
        check_revision(Some(self.expected_revision), run.revision)?;
        run.must_be_live()?;
        let after = self.applied_to(&run)?;
        let token_budget = after.token_budget;
        check_tokens("token_budget", token_budget)?;
        check_in_hand("max_dispatches", after.max_dispatches)?;
        if run.budget_enforced && token_budget.is_none() {
            let rule = "cannot be taken away from a run that enforces it";
            return Err(crate::Error::invalid("token_budget", rule).into());
        }
        if after == run {
            return Ok(ChangedRun { run });
        }
        tx.emit(RunUpdated {
            id: run.id,
            project: run.project_id,
            goal: after.goal,
            token_budget,
            max_dispatches: after.max_dispatches,
            metadata: after.metadata,
        })?;
        Ok(ChangedRun {
            run: changed(tx, run.id)?,
        })
    }
}

impl UpdateRun {
    fn applied_to(&self, run: &Run) -> Result<Run, crate::Error> {
        let mut after = run.clone();
        if let Some(goal) = &self.goal {
            after.goal = goal.to_string();
        }
        after.token_budget = self.token_budget.applied_to(run.token_budget);
        after.max_dispatches = self.max_dispatches.applied_to(run.max_dispatches);
        for (key, value) in self.metadata.clone().unwrap_or_default() {
            match value {
                Value::Null => after.metadata.remove(&key),
                value => after.metadata.insert(key, value),
            };
        }
        after.metadata = check_metadata("metadata", after.metadata)?;
        Ok(after)
    }
}
