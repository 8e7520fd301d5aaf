//! Deletes what was saved under a key.

use comity_domain::{ScopeName, StateKey};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::{Ended, StateDeleted};
use super::load::missing;
use super::save::must_be_expected;
use super::table::{self, State};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::error::{Error, Impossible};
use crate::project::table::{self as project_table, ProjectRef};
use crate::tx::WriteTx;

/// Deletes what was saved under a key.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteState {
    /// The project's key or slug; an agent's own unless given.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// Where; an agent's own scope unless given.
    #[serde(default)]
    pub scope: Option<ScopeName>,
    /// The key in the scope.
    pub key: StateKey,
    /// Deletes only if this is the version that is there.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub expected_version: Option<i64>,
}

/// What was deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeletedState {
    /// What was there, without the value.
    pub state: State,
}

impl Command for DeleteState {
    const NAME: &'static str = "delete_state";
    const WHO: &'static [Party] = &[Party::Itself, Party::Operator];
    type Answer = DeletedState;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<DeletedState, Stop> {
        let actor = tx.actor().clone();
        let project = project_table::resolve(tx, &actor, self.project.as_ref())?;
        let place = table::locate(tx, &actor, project.id, self.scope.as_ref())?;
        let kept = table::kept(tx, &place, &self.key)?;
        let state = kept.ok_or_else(|| missing(&self.key))?.state;
        must_be_expected(self.expected_version, state.version)?;
        let held = table::held(tx, &place)?
            .ok_or_else(|| Error::internal(Impossible("a value without its scope")))?;
        tx.emit(StateDeleted {
            id: held.id,
            project: place.project,
            scope: place.name.to_string(),
            owner: place.owner,
            ended: Ended {
                entry: state.id,
                key: state.key.clone(),
                version: state.version,
            },
        })?;
        Ok(DeletedState { state })
    }
}
