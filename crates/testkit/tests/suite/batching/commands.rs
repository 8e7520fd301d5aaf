//! Commands and queries of the tests' own: some misbehave, some wait for each other.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use comity_domain::{AgentName, ProjectId};
use comity_kernel::actor::Party;
use comity_kernel::agent::event::{AgentRegistered, Profile};
use comity_kernel::agent::table as agents;
use comity_kernel::failpoint::{Action, Failpoints};
use comity_kernel::project::{EnsureProject, EnsuredProject, table as projects};
use comity_kernel::store::{Row, StoreError};
use comity_kernel::tx::{Read, Snapshot, WriteTx};
use comity_kernel::{Actor, Command, Error, Query, Stop};
use serde::Serialize;

use super::{BEFORE_COMMIT, PATIENCE};

/// How a poisoned command misbehaves after it has registered an agent.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) enum How {
    /// It panics.
    Panic,
    /// It fails: its event is undone.
    Fail,
    /// It refuses: its event stands.
    Refuse,
    /// It violates a constraint.
    Violate,
    /// It violates a constraint and says that all is well.
    Swallow,
    /// A statement that changes nothing fails, and it says that all is well.
    SwallowRead,
}

impl How {
    pub(super) const ALL: [Self; 6] = [
        Self::Panic,
        Self::Fail,
        Self::Refuse,
        Self::Violate,
        Self::Swallow,
        Self::SwallowRead,
    ];
}

/// Registers an agent and then misbehaves.
#[derive(Serialize)]
pub(super) struct Poisoned {
    how: How,
    name: String,
}

impl Poisoned {
    pub(super) fn new(how: How, name: &str) -> Self {
        let name = name.to_owned();
        Self { how, name }
    }
}

impl Command for Poisoned {
    const NAME: &'static str = "poisoned";
    const WHO: &'static [Party] = &[Party::Operator];
    type Answer = ();

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<(), Stop> {
        let (project, name) = (
            ProjectId::new(1),
            AgentName::parse(&self.name).expect("a name"),
        );
        let event = AgentRegistered {
            id: agents::vacancy(tx, project, &name)?.agent,
            project,
            name,
            profile: Profile {
                program: "poison".to_owned(),
                model: String::new(),
                task: String::new(),
                capabilities: ["poison".to_owned()].into(),
                metadata: serde_json::Map::new(),
                rights: [].into(),
                contact_policy: comity_domain::ContactPolicy::Open,
            },
        };
        tx.emit(event.clone())?;
        let error = || Error::invalid("how", "is poisoned");
        match self.how {
            How::Panic => panic!("poisoned"),
            How::Fail => Err(Stop::Failed(error())),
            How::Refuse => Err(Stop::Refused(Error::Forbidden {
                reason: "poisoned".to_owned(),
            })),
            How::Violate => Ok(tx.emit(event).map(drop)?),
            How::Swallow => {
                let _ = tx.emit(event);
                Ok(())
            }
            How::SwallowRead => {
                let _ = tx.rows("select no_such_column from project", &[], |_| Ok(()));
                Ok(())
            }
        }
    }
}

/// Makes a project, and the commit of its first attempt fail for want of space.
#[derive(Serialize)]
pub(super) struct LostAtFirst {
    ensure: EnsureProject,
    #[serde(skip)]
    pub(super) attempts: Arc<AtomicU32>,
    #[serde(skip)]
    failpoints: Failpoints,
}

impl LostAtFirst {
    pub(super) fn new(ensure: EnsureProject, failpoints: &Failpoints) -> Self {
        Self {
            ensure,
            attempts: Arc::default(),
            failpoints: failpoints.clone(),
        }
    }

    /// Has its first attempt behind it.
    pub(super) fn not_lost(self) -> Self {
        self.attempts.store(1, Ordering::SeqCst);
        self
    }
}

impl Command for LostAtFirst {
    const NAME: &'static str = "lost_at_first";
    const WHO: &'static [Party] = &[Party::Operator];
    type Answer = EnsuredProject;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<EnsuredProject, Stop> {
        if self.attempts.fetch_add(1, Ordering::SeqCst) == 0 {
            let full = StoreError::Full(Arc::new(std::fmt::Error));
            self.failpoints.set(BEFORE_COMMIT, Action::Fail(full));
        } else {
            self.failpoints.clear(BEFORE_COMMIT);
        }
        self.ensure.decide(tx)
    }
}

/// Lists the names of the agents of the first project.
pub(super) struct AgentNames;

impl Query for AgentNames {
    const NAME: &'static str = "agent_names";
    const WHO: &'static [Party] = &[Party::Operator];
    type Answer = Vec<String>;

    fn run(&self, _actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Vec<String>, Error> {
        let sql = "select name from agent where project_id = 1 order by id";
        Ok(snapshot.rows(sql, &[], Row::take)?)
    }
}

/// Counts the projects when everybody is there.
pub(super) struct Meet {
    meeting: Meeting,
    of: usize,
}

impl Meet {
    pub(super) fn new(meeting: &Meeting, of: usize) -> Self {
        let meeting = meeting.clone();
        Self { meeting, of }
    }
}

impl Query for Meet {
    const NAME: &'static str = "meet";
    const WHO: &'static [Party] = &[Party::Operator];
    type Answer = usize;

    fn run(&self, _actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<usize, Error> {
        self.meeting.meet(self.of);
        count(snapshot)
    }
}

/// Counts the projects, stays a while, and counts again.
pub(super) struct Linger {
    entered: Meeting,
    leave: Meeting,
}

impl Linger {
    pub(super) fn new(entered: &Meeting, leave: &Meeting) -> Self {
        let (entered, leave) = (entered.clone(), leave.clone());
        Self { entered, leave }
    }
}

impl Query for Linger {
    const NAME: &'static str = "linger";
    const WHO: &'static [Party] = &[Party::Operator];
    type Answer = (usize, usize);

    fn run(&self, _actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<(usize, usize), Error> {
        let before = count(snapshot)?;
        self.entered.meet(2);
        self.leave.meet(2);
        Ok((before, count(snapshot)?))
    }
}

fn count(read: &mut impl Read) -> Result<usize, Error> {
    Ok(projects::page(read, 0, 500)?.len())
}

/// A barrier that fails instead of waiting for ever.
#[derive(Clone, Default)]
pub(super) struct Meeting(Arc<(Mutex<usize>, Condvar)>);

impl Meeting {
    pub(super) fn meet(&self, of: usize) {
        let (arrived, changed) = &*self.0;
        let mut arrived = arrived.lock().unwrap();
        *arrived += 1;
        changed.notify_all();
        let waited = changed.wait_timeout_while(arrived, PATIENCE, |arrived| *arrived < of);
        assert!(!waited.unwrap().1.timed_out(), "not everybody came");
    }
}

/// Makes the commits of its first attempts fail, one error each.
#[derive(Serialize)]
pub(super) struct Sabotage {
    ensure: EnsureProject,
    #[serde(skip)]
    plan: Vec<StoreError>,
    #[serde(skip)]
    pub(super) attempts: Arc<AtomicU32>,
    #[serde(skip)]
    failpoints: Failpoints,
}

impl Sabotage {
    pub(super) fn new(
        ensure: EnsureProject,
        plan: Vec<StoreError>,
        failpoints: &Failpoints,
    ) -> Self {
        Self {
            ensure,
            plan,
            attempts: Arc::default(),
            failpoints: failpoints.clone(),
        }
    }
}

impl Command for Sabotage {
    const NAME: &'static str = "sabotage";
    const WHO: &'static [Party] = &[Party::Operator];
    type Answer = EnsuredProject;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<EnsuredProject, Stop> {
        let attempt = self.attempts.fetch_add(1, Ordering::SeqCst) as usize;
        match self.plan.get(attempt) {
            Some(error) => self
                .failpoints
                .set(BEFORE_COMMIT, Action::Fail(error.clone())),
            None => self.failpoints.clear(BEFORE_COMMIT),
        }
        self.ensure.decide(tx)
    }
}
