//! Loads what was saved under a key.

use comity_domain::{ScopeName, StateKey};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::table::{self, Kept, State};
use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::params;
use crate::project::table::{self as project_table, ProjectRef};
use crate::query::Query;
use crate::store::Row;
use crate::tx::{Read, Snapshot};

/// Loads what was saved under a key.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadState {
    /// The project's key or slug; an agent's own unless given.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// Where; an agent's own scope unless given.
    #[serde(default)]
    pub scope: Option<ScopeName>,
    /// The key in the scope.
    pub key: StateKey,
}

/// What was saved.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LoadedState {
    /// What is known of it.
    pub state: State,
    /// The value.
    pub value: Value,
}

impl Query for LoadState {
    const NAME: &'static str = "load_state";
    const WHO: &'static [Party] = &[Party::Itself, Party::Operator];
    type Answer = LoadedState;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<LoadedState, Error> {
        let project = project_table::resolve(snapshot, actor, self.project.as_ref())?;
        let place = table::locate(snapshot, actor, project.id, self.scope.as_ref())?;
        let kept = table::kept(snapshot, &place, &self.key)?;
        let kept = kept.ok_or_else(|| missing(&self.key))?;
        let value = value_of(snapshot, &kept)?;
        let state = kept.state;
        Ok(LoadedState { state, value })
    }
}

/// Says that nothing is kept under a key.
pub(super) fn missing(key: &StateKey) -> Error {
    Error::not_found("state", key)
}

/// Reads a value, where it is, and looks whether it is what was saved.
fn value_of(snapshot: &mut Snapshot<'_>, kept: &Kept) -> Result<Value, Error> {
    let damaged = || Error::Damaged {
        what: format!("the value of `{}` is not what it was", kept.state.key),
    };
    let bytes = match (&kept.value, &kept.sha256) {
        (Some(text), _) => text.clone().into_bytes(),
        (None, Some(sha256)) => {
            let bytes = snapshot.row(
                "select bytes from blob where sha256 = ?1",
                params![sha256],
                Row::take::<Vec<u8>>,
            )?;
            let same = |bytes: &Vec<u8>| Sha256::digest(bytes).as_slice() == sha256;
            bytes.filter(same).ok_or_else(damaged)?
        }
        (None, None) => return Err(damaged()),
    };
    serde_json::from_slice(&bytes).map_err(|_| damaged())
}
