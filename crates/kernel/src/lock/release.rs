//! Gives a named lock back.

use comity_domain::Seq;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Name;
use super::table::{self, Lock, show};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::error::{Error, Impossible};
use crate::project::table::{self as project_table, ProjectRef};
use crate::reservation::event::LeaseReleased;
use crate::reservation::held;
use crate::reservation::table as leases;
use crate::tx::{Read, WriteTx};

/// Gives your lock back.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleaseLock {
    /// The project's key or slug; an agent's own unless given.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// The lock's name.
    pub name: Name,
    /// The fence you know; another one is refused.
    #[serde(default)]
    pub fence: Option<Seq>,
}

/// The lock as it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReleasedLock {
    /// The lock.
    pub lock: Lock,
}

impl Command for ReleaseLock {
    const NAME: &'static str = "release_lock";
    const WHO: &'static [Party] = &[Party::Agent, Party::Operator];
    type Answer = ReleasedLock;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<ReleasedLock, Stop> {
        let actor = tx.actor().clone();
        let project = project_table::resolve(tx, &actor, self.project.as_ref())?;
        let holder = held::holder(&actor);
        let lease = table::meant(tx, project.id, &self.name, holder, self.fence)?;
        held::must_hold(tx, &actor, &lease, self.fence)?;
        tx.emit(LeaseReleased(lease.to_end(tx.now())))?;
        let lease = leases::by_id(tx, lease.id)?
            .ok_or_else(|| Error::internal(Impossible("a lock vanished as it was changed")))?;
        Ok(ReleasedLock {
            lock: show(lease, tx.now()),
        })
    }
}
