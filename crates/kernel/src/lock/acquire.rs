//! Takes a named lock.

use comity_domain::{RunId, Span, Ttl};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Name;
use super::table::{self, Lock, show};
use crate::actor::{Actor, Party};
use crate::command::{Command, Stop};
use crate::error::{Error, Impossible};
use crate::line::{Claim, Patient};
use crate::project::table::{self as project_table, Project, ProjectRef};
use crate::query::Query;
use crate::reservation::check::Checked;
use crate::reservation::event::LockAcquired;
use crate::reservation::table as leases;
use crate::reservation::{Reason, conflict, held};
use crate::tx::{Read, Snapshot, WriteTx};

/// Takes a named lock, for a port, a test runner or a database; taking it again renews it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AcquireLock {
    /// The project's key or slug; an agent's own unless given.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// The lock's name.
    pub name: Name,
    /// How long, 1 s to 24 h; 30 minutes unless given.
    #[serde(default)]
    pub ttl: Option<Ttl>,
    /// Why, for whoever wants the same.
    #[serde(default)]
    pub reason: Option<Reason>,
    /// The run it belongs to; it ends with it.
    #[serde(default)]
    pub run: Option<RunId>,
    /// How long to wait for its holder to let go, at most 60 s.
    #[serde(default)]
    pub wait: Option<Span>,
}

/// The lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AcquiredLock {
    /// The lock.
    pub lock: Lock,
    /// Whether it is new.
    pub created: bool,
}

impl Command for AcquireLock {
    const NAME: &'static str = "acquire_lock";
    const WHO: &'static [Party] = &[Party::Agent, Party::Operator];
    type Answer = AcquiredLock;

    fn asked(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(&Self {
            wait: None,
            ..self.clone()
        })
    }

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<AcquiredLock, Stop> {
        let actor = tx.actor().clone();
        let project = project_table::resolve(tx, &actor, self.project.as_ref())?;
        let holder = held::holder(&actor);
        let until = held::until(tx, self.ttl);
        let now = tx.now();
        let run = crate::run::belonging_leases(tx, project.id, self.run, 1)?;
        let created = match table::active(tx, project.id, &self.name)? {
            Some(lease) if lease.agent == holder => {
                held::extend(tx, &lease, until)?;
                false
            }
            Some(lease) => {
                return Err(Error::ReservationConflict {
                    conflicts: conflict::show(tx, vec![lease])?,
                }
                .into());
            }
            None => {
                must_fit(tx, holder, &project)?;
                let id = leases::next_id(tx)?;
                tx.emit(LockAcquired {
                    id,
                    project: project.id,
                    agent: holder,
                    name: self.name.to_string(),
                    reason: self.reason.as_deref().unwrap_or_default().to_owned(),
                    run,
                    granted: now.lease,
                    expires: until,
                })?;
                true
            }
        };
        let lease = table::active(tx, project.id, &self.name)?
            .ok_or_else(|| Error::internal(Impossible("a lock vanished as it was taken")))?;
        Ok(AcquiredLock {
            lock: show(lease, now),
            created,
        })
    }
}

/// Refuses one more than an agent may hold; the operator is exempt.
fn must_fit(
    tx: &mut WriteTx<'_, '_>,
    holder: Option<comity_domain::AgentId>,
    project: &Project,
) -> Result<(), Error> {
    let Some(agent) = holder else {
        return Ok(());
    };
    if leases::count_of(tx, agent)? < project.leases_per_agent {
        return Ok(());
    }
    Err(Error::LimitExceeded {
        what: "the number of active leases of one agent",
        limit: project.leases_per_agent.unsigned_abs(),
    })
}

/// Asks who has a lock.
pub struct CheckLock {
    project: Option<ProjectRef>,
    name: Name,
}

impl Query for CheckLock {
    const NAME: &'static str = "check_lock";
    const WHO: &'static [Party] = &[Party::Agent, Party::Operator];
    type Answer = Checked;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Checked, Error> {
        let project = project_table::resolve(snapshot, actor, self.project.as_ref())?;
        let active = table::active(snapshot, project.id, &self.name)?;
        let others = active.filter(|lease| lease.agent != held::holder(actor));
        let conflicts = conflict::show(snapshot, others.into_iter().collect())?;
        Ok(Checked {
            free: conflicts.is_empty(),
            conflicts,
        })
    }
}

impl Patient for AcquireLock {
    type Look = CheckLock;

    fn patience(&self) -> Option<Span> {
        self.wait
    }

    fn claim(&self) -> Claim {
        Claim::Lock(self.name.to_string())
    }

    fn look(&self) -> CheckLock {
        CheckLock {
            project: self.project.clone(),
            name: self.name.clone(),
        }
    }
}
