//! Adds a hook.

use comity_domain::limits::HOOKS_MAX;
use comity_domain::{HookCommand, HookSecret, HookUrl, Seq};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cursor::Keep;
use super::event::HookAdded;
use super::table::{self, Hook};
use crate::actor::Party;
use crate::command::{Command, Secret, Stop};
use crate::error::{Error, Impossible};
use crate::event::filter::Wanted;
use crate::event::pruned;
use crate::tx::{Read as _, WriteTx};

/// Has events told to a service or a program, from now on.
///
/// Each event is posted as JSON, at least once and in order for each subject. The answer holds the
/// secret that signs the requests; it is told this once.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddHook {
    /// Which events; all unless said.
    #[serde(default)]
    pub filter: Wanted,
    /// Where they are posted. It stands in the log: a secret in it is no secret any more.
    #[serde(default)]
    pub url: Option<HookUrl>,
    /// The program that gets them, instead of an address, with its arguments: an absolute path, no
    /// shell. The server's configuration must allow it.
    #[serde(default)]
    pub command: Option<HookCommand>,
    /// The last event that is not told; the last that there is unless said.
    #[serde(default)]
    pub since: Option<Seq>,
}

/// The hook added; what signs its requests is told once.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AddedHook {
    /// Everything but the secret.
    pub hook: Hook,
    /// The secret; `None` in a replayed answer, and for a program.
    #[serde(skip)]
    pub secret: Option<HookSecret>,
}

impl Command for AddHook {
    const NAME: &'static str = "add_hook";
    const WHO: &'static [Party] = &[Party::Operator];
    type Answer = AddedHook;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<AddedHook, Stop> {
        let actor = tx.actor().clone();
        match (&self.url, &self.command) {
            (Some(_), None) => {}
            (None, Some(_)) if tx.memory().hook_commands => {}
            (None, Some(_)) => {
                let rule = "is not allowed here: the server's `comity.toml` must have \
                            `allow_commands = true` under `[hooks]`";
                return Err(Error::invalid("command", rule).into());
            }
            (None, None) => {
                let rule = "or `command` must be given";
                return Err(Error::invalid("url", rule).into());
            }
            (Some(_), Some(_)) => {
                let rule = "must be left out where `url` is given";
                return Err(Error::invalid("command", rule).into());
            }
        }
        let filter = self.filter.resolve(tx, &actor)?;
        let since = self.since.unwrap_or_else(|| tx.head());
        if since < Seq::ZERO || since > tx.head() {
            let rule = format!("must be between 0 and {}, the end of the log", tx.head());
            return Err(Error::invalid("since", rule).into());
        }
        pruned::must_go_on(tx, since)?;
        if table::count(tx)? >= HOOKS_MAX {
            return Err(Error::LimitExceeded {
                what: "the number of hooks",
                limit: HOOKS_MAX.unsigned_abs(),
            }
            .into());
        }
        let id = table::next_id(tx)?;
        let secret = self.url.as_ref().map(|_| HookSecret::new(tx.random()));
        tx.emit(HookAdded {
            id,
            filter,
            url: self.url.as_ref().map(|url| url.as_str().to_owned()),
            command: self.command.as_ref().map(|words| words.words().to_vec()),
            since,
        })?;
        tx.keep_hook(&Keep::Begin(id, since, secret.as_ref()))?;
        let hook = table::by_id(tx, id)?
            .ok_or_else(|| Error::internal(Impossible("a hook vanished as it was added")))?;
        Ok(AddedHook { hook, secret })
    }

    fn secret(answer: &AddedHook) -> Option<Secret> {
        answer.secret.clone().map(Secret::Hook)
    }
}
