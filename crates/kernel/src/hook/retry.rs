//! Has an event told again that was given up.

use comity_domain::{HookId, Seq};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cursor::{self, Keep};
use super::table::{self, Hook};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::error::{Error, Impossible};
use crate::event::pruned;
use crate::tx::WriteTx;

/// Lets a dead letter wait again, with all its tries before it.
///
/// Events of the same subject that were told meanwhile are not told again; those that wait stay
/// behind it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RetryDeadLetter {
    /// The hook's number.
    pub hook: HookId,
    /// The event's place in the log.
    pub seq: Seq,
}

/// The hook as it is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RetriedLetter {
    /// The hook.
    pub hook: Hook,
}

impl Command for RetryDeadLetter {
    const NAME: &'static str = "retry_dead_letter";
    const WHO: &'static [Party] = &[Party::Operator];
    type Answer = RetriedLetter;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<RetriedLetter, Stop> {
        let hook = table::by_id(tx, self.hook)?;
        if hook.is_none_or(|hook| hook.removed_at.is_some()) {
            return Err(Error::not_found("hook", &self.hook).into());
        }
        if !cursor::is_dead(tx, self.hook, self.seq)? {
            return Err(Error::not_found("dead letter", &self.seq).into());
        }
        pruned::must_be_left(tx, self.seq)?;
        tx.keep_hook(&Keep::Revive(self.hook, self.seq))?;
        let hook = table::by_id(tx, self.hook)?
            .ok_or_else(|| Error::internal(Impossible("a hook vanished as it was retried")))?;
        Ok(RetriedLetter { hook })
    }
}
