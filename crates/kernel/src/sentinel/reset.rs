//! Lets a sentinel be claimed at once.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::SentinelReset;
use super::table::{self, Sentinel};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::error::{Error, Impossible};
use crate::lock::Name;
use crate::project::table::{self as project_table, ProjectRef};
use crate::tx::WriteTx;

/// Lets a sentinel be claimed at once, whatever its interval.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResetSentinel {
    /// The project's key or slug; an agent's own unless given.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// The sentinel's name.
    pub name: Name,
    /// Its scope, if it was claimed with one.
    #[serde(default)]
    pub scope: Option<Name>,
}

/// The sentinel as it is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResetAnswer {
    /// The sentinel.
    pub sentinel: Sentinel,
}

impl Command for ResetSentinel {
    const NAME: &'static str = "reset_sentinel";
    const WHO: &'static [Party] = &[Party::Agent, Party::Operator];
    type Answer = ResetAnswer;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<ResetAnswer, Stop> {
        let actor = tx.actor().clone();
        let project = project_table::resolve(tx, &actor, self.project.as_ref())?;
        let scope = self.scope.as_deref().unwrap_or_default();
        let (sentinel, claimed) = table::by_name(tx, project.id, &self.name, scope)?
            .ok_or_else(|| Error::not_found("sentinel", &self.name))?;
        if claimed.is_none() {
            return Ok(ResetAnswer { sentinel });
        }
        tx.emit(SentinelReset {
            id: sentinel.id,
            project: project.id,
        })?;
        let (sentinel, _) = table::by_name(tx, project.id, &self.name, scope)?
            .ok_or_else(|| Error::internal(Impossible("a sentinel vanished as it was reset")))?;
        Ok(ResetAnswer { sentinel })
    }
}
