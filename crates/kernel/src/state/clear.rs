//! Deletes everything that a scope holds.

use comity_domain::ScopeName;
use comity_domain::limits::STATE_KEYS_MAX;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::due;
use super::event::StateCleared;
use super::table::{self, Of};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::project::table::{self as project_table, ProjectRef};
use crate::tx::WriteTx;

/// Deletes everything that a scope holds.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClearState {
    /// The project's key or slug; an agent's own unless given.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// Where; an agent's own scope unless given.
    #[serde(default)]
    pub scope: Option<ScopeName>,
}

/// What was deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClearedState {
    /// The scope.
    pub scope: String,
    /// The keys that were there, in order.
    pub keys: Vec<String>,
}

impl Command for ClearState {
    const NAME: &'static str = "clear_state";
    const WHO: &'static [Party] = &[Party::Itself, Party::Operator];
    type Answer = ClearedState;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<ClearedState, Stop> {
        let actor = tx.actor().clone();
        let project = project_table::resolve(tx, &actor, self.project.as_ref())?;
        let place = table::locate(tx, &actor, project.id, self.scope.as_ref())?;
        let scope = place.name.to_string();
        let mut keys = Vec::new();
        if let Some(held) = table::held(tx, &place)? {
            // What has expired ends as expired, and is not among what was cleared.
            due::write_down(tx, Of::Scope(held.id), STATE_KEYS_MAX)?;
            let ended = table::all(tx, held.id)?;
            keys.extend(ended.iter().map(|one| one.key.clone()));
            if !ended.is_empty() {
                tx.emit(StateCleared {
                    id: held.id,
                    project: place.project,
                    scope: scope.clone(),
                    owner: place.owner,
                    keys: ended,
                })?;
            }
        }
        Ok(ClearedState { scope, keys })
    }
}
