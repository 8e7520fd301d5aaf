//! The patterns of open leases in memory, so that a check looks at few of them (I9).
//!
//! The index only says which leases may be in the way; whether one holds is read from its row, in
//! the transaction that asks. It is brought up to what that transaction sees as committed before
//! it is used, never takes in rows of a running batch, and keeps leases that ended for a while,
//! because an older snapshot may still see them open. A snapshot older than that reads the table.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use comity_domain::pattern::Index;
use comity_domain::{AgentId, Pattern, ProjectId, ReservationId, Seq};

use super::table::compared;
use crate::params;
use crate::store::{Row, StoreError};
use crate::tx::Read;

/// How many ended leases are kept for older snapshots.
const ENDED_MAX: usize = 256;

/// A lease, and whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Held {
    id: ReservationId,
    by: AgentId,
}

/// The patterns of all open leases on files.
#[derive(Clone, Default)]
pub(crate) struct LeaseIndex(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    projects: HashMap<ProjectId, Arc<Index<Held>>>,
    /// Up to where the log is taken in; nothing is before the first use.
    through: Option<Seq>,
    /// Leases that ended up to here may be missing.
    floor: Seq,
    last_id: i64,
    ended: Vec<(Held, ProjectId)>,
}

/// A lease's pattern as the index wants it.
type Covered = (Held, ProjectId, Pattern);

/// The patterns of a project's leases as a transaction sees them: every open one, and perhaps some
/// that are not.
pub(super) struct Patterns {
    index: Arc<Index<Held>>,
    /// What the running batch granted may be undone yet: it is looked at and not kept.
    granted: Vec<Covered>,
}

impl Patterns {
    /// Returns the numbers of leases that overlap a pattern, but for those of one holder.
    pub(super) fn overlapping(
        &self,
        pattern: &Pattern,
        but_of: Option<AgentId>,
    ) -> Vec<ReservationId> {
        let counts = |held: Held| but_of != Some(held.by);
        let mut found = self.index.overlapping_among(pattern, counts);
        let granted = self.granted.iter();
        let overlap =
            granted.filter(|(held, _, granted)| counts(*held) && granted.overlaps(pattern));
        found.extend(overlap.map(|(held, _, _)| *held));
        found.into_iter().map(|held| held.id).collect()
    }
}

/// Returns the patterns of a project's leases.
pub(super) fn of_project(read: &mut impl Read, project: ProjectId) -> Result<Patterns, StoreError> {
    let leases = read.memory().leases.clone();
    leases.catch_up(read)?;
    let (index, last_id) = {
        let state = leases.lock();
        let index = state.projects.get(&project).cloned();
        let is_too_new = state.floor > read.committed();
        let index = if is_too_new {
            None
        } else {
            Some(index.unwrap_or_default())
        };
        (index, state.last_id)
    };
    let Some(index) = index else {
        return from_table(read, project);
    };
    let granted = if read.head() > read.committed() {
        granted_after(read, project, last_id)?
    } else {
        Vec::new()
    };
    Ok(Patterns { index, granted })
}

/// Reads nothing but the table.
fn from_table(read: &mut impl Read, project: ProjectId) -> Result<Patterns, StoreError> {
    Ok(Patterns {
        index: Arc::default(),
        granted: granted_after(read, project, 0)?,
    })
}

impl LeaseIndex {
    /// Takes in what was committed since the last time. Nothing is read while others are kept out.
    fn catch_up(&self, read: &mut impl Read) -> Result<(), StoreError> {
        let committed = read.committed();
        loop {
            let (known, last_id) = {
                let state = self.lock();
                (state.through, state.last_id)
            };
            if known.is_some_and(|known| known >= committed) {
                return Ok(());
            }
            // At first, what has ended is left out; later, it is what has ended since.
            let since = known.unwrap_or(committed);
            let granted = granted_between(read, last_id, since, committed)?;
            let last_id = last_id_at(read, committed)?;
            let ended = ended_between(read, since, committed)?;
            let mut state = self.lock();
            if state.through != known {
                // Somebody else was faster.
                continue;
            }
            state.take_in(granted, ended);
            state.last_id = state.last_id.max(last_id);
            if known.is_none() {
                state.floor = committed;
            }
            state.through = Some(committed);
            return Ok(());
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn take_in(&mut self, granted: Vec<Covered>, ended: Vec<(Held, ProjectId)>) {
        // Before the new ones: those that ended since may still be seen open by somebody.
        if self.ended.len() > ENDED_MAX {
            for (held, project) in std::mem::take(&mut self.ended) {
                if let Some(index) = self.projects.get_mut(&project) {
                    Arc::make_mut(index).remove(held);
                }
            }
            self.floor = self.through.unwrap_or_default();
        }
        for (held, project, pattern) in granted {
            let index = self.projects.entry(project).or_default();
            Arc::make_mut(index).insert(held, pattern);
        }
        self.ended.extend(ended);
    }
}

/// Reads leases that were granted after a number and committed, unless they ended up to `since`.
fn granted_between(
    read: &mut impl Read,
    last_id: i64,
    since: Seq,
    committed: Seq,
) -> Result<Vec<Covered>, StoreError> {
    read.rows(
        "select r.id, r.agent_id, r.project_id, r.pattern, p.case_insensitive
         from reservation r join project p on p.id = r.project_id
         where r.id > ?1 and r.kind = 'files' and r.fence <= ?3
         and (r.ended_seq is null or r.ended_seq > ?2) order by r.id",
        params![last_id, since, committed],
        covered,
    )
}

/// Reads a project's leases that were granted after a number and are not ended.
fn granted_after(
    read: &mut impl Read,
    project: ProjectId,
    last_id: i64,
) -> Result<Vec<Covered>, StoreError> {
    read.rows(
        "select r.id, r.agent_id, r.project_id, r.pattern, p.case_insensitive
         from reservation r join project p on p.id = r.project_id
         where r.id > ?1 and r.project_id = ?2 and r.kind = 'files' and r.ended_seq is null
         order by r.id",
        params![last_id, project],
        covered,
    )
}

/// Reads leases that ended in a part of the log.
fn ended_between(
    read: &mut impl Read,
    since: Seq,
    committed: Seq,
) -> Result<Vec<(Held, ProjectId)>, StoreError> {
    read.rows(
        "select id, agent_id, project_id from reservation
         where ended_seq > ?1 and ended_seq <= ?2 and kind = 'files'",
        params![since, committed],
        |row| Ok((held(row)?, row.take()?)),
    )
}

/// Reads the number of the last lease or lock that is committed.
fn last_id_at(read: &mut impl Read, committed: Seq) -> Result<i64, StoreError> {
    let last = read.row(
        "select id from reservation where fence <= ?1 order by id desc limit 1",
        params![committed],
        Row::take::<i64>,
    )?;
    Ok(last.unwrap_or(0))
}

fn held(row: &mut Row) -> Result<Held, StoreError> {
    Ok(Held {
        id: row.take()?,
        by: row.take()?,
    })
}

fn covered(row: &mut Row) -> Result<Covered, StoreError> {
    let (id, project) = (held(row)?, row.take()?);
    let (pattern, case_insensitive): (String, bool) = (row.take()?, row.take()?);
    Ok((id, project, compared(&pattern, case_insensitive)?))
}
