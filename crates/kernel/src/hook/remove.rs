//! Removes a hook.

use comity_domain::HookId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cursor::Keep;
use super::event::HookRemoved;
use super::table::{self, Hook};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::error::{Error, Impossible};
use crate::tx::WriteTx;

/// Removes a hook for good, with everything that waits for it; one that is removed already stays
/// so.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RemoveHook {
    /// The hook's number.
    pub id: HookId,
}

/// The hook as it is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RemovedHook {
    /// The hook.
    pub hook: Hook,
}

impl Command for RemoveHook {
    const NAME: &'static str = "remove_hook";
    const WHO: &'static [Party] = &[Party::Operator];
    type Answer = RemovedHook;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<RemovedHook, Stop> {
        let hook = table::by_id(tx, self.id)?.ok_or_else(|| Error::not_found("hook", &self.id))?;
        if hook.removed_at.is_some() {
            return Ok(RemovedHook { hook });
        }
        tx.emit(HookRemoved { id: self.id })?;
        tx.keep_hook(&Keep::Forget(self.id))?;
        let hook = table::by_id(tx, self.id)?
            .ok_or_else(|| Error::internal(Impossible("a hook vanished as it was removed")))?;
        Ok(RemovedHook { hook })
    }
}
