//! Keeps a named lock longer.

use comity_domain::{Seq, Ttl};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Name;
use super::table::{self, Lock, show};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::error::{Error, Impossible};
use crate::project::table::{self as project_table, ProjectRef};
use crate::reservation::held;
use crate::reservation::table as leases;
use crate::tx::{Read, WriteTx};

/// Keeps your lock longer; never one that has ended.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RenewLock {
    /// The project's key or slug; an agent's own unless given.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// The lock's name.
    pub name: Name,
    /// How long from now, 1 s to 24 h; 30 minutes unless given. A lock is never shortened.
    #[serde(default)]
    pub ttl: Option<Ttl>,
    /// The fence you know; another one is refused.
    #[serde(default)]
    pub fence: Option<Seq>,
}

/// The lock as it is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RenewedLock {
    /// The lock.
    pub lock: Lock,
}

impl Command for RenewLock {
    const NAME: &'static str = "renew_lock";
    const WHO: &'static [Party] = &[Party::Agent, Party::Operator];
    type Answer = RenewedLock;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<RenewedLock, Stop> {
        let actor = tx.actor().clone();
        let project = project_table::resolve(tx, &actor, self.project.as_ref())?;
        let holder = held::holder(&actor);
        let lease = table::meant(tx, project.id, &self.name, holder, self.fence)?;
        held::must_hold(tx, &actor, &lease, self.fence)?;
        let until = held::until(tx, self.ttl);
        held::extend(tx, &lease, until)?;
        let lease = leases::by_id(tx, lease.id)?
            .ok_or_else(|| Error::internal(Impossible("a lock vanished as it was changed")))?;
        Ok(RenewedLock {
            lock: show(lease, tx.now()),
        })
    }
}
