//! Which dispatch somebody gets who asks for work.

use std::collections::BTreeMap;

use comity_domain::limits::FIRST_CANDIDATES;
use comity_domain::{DispatchId, LeaseTime, ProjectId, RunId};

use super::load;
use crate::params;
use crate::run::AgentKind;
use crate::store::{Row, StoreError};
use crate::tx::Read;

/// A dispatch that may be claimed, as far as its own row says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Candidate {
    id: DispatchId,
    run: i64,
    priority: i64,
}

impl Candidate {
    /// Returns its place: higher priority first, then the older one.
    const fn rank(&self) -> (i64, i64) {
        (-self.priority, self.id.get())
    }
}

/// Finds the oldest dispatch of the highest priority that one of these kinds may claim now.
pub(super) fn best(
    read: &mut impl Read,
    project: ProjectId,
    kinds: &[AgentKind],
) -> Result<Option<DispatchId>, StoreError> {
    let mut best: Option<Candidate> = None;
    for kind in kinds {
        let found = best_of_kind(read, project, kind)?;
        best = best.into_iter().chain(found).min_by_key(Candidate::rank);
    }
    Ok(best.map(|candidate| candidate.id))
}

/// Finds the best dispatch for one kind: among the first by rank, then run by run.
///
/// Most of the time the first is free. When a full run has many before all others, they are not
/// read one by one.
fn best_of_kind(
    read: &mut impl Read,
    project: ProjectId,
    kind: &str,
) -> Result<Option<Candidate>, StoreError> {
    let mut known = BTreeMap::new();
    let first = first(read, project, kind)?;
    for candidate in &first {
        if is_open(read, &mut known, candidate.run, kind)? {
            return Ok(Some(*candidate));
        }
    }
    if i64::try_from(first.len()).unwrap_or(i64::MAX) < FIRST_CANDIDATES {
        return Ok(None);
    }
    let mut best: Option<Candidate> = None;
    for run in runs(read, project, kind)? {
        if is_open(read, &mut known, run, kind)? {
            let found = first_of_run(read, project, kind, run)?;
            best = best.into_iter().chain(found).min_by_key(Candidate::rank);
        }
    }
    Ok(best)
}

/// Tells whether a run lets this kind claim one more; what is known of a run is not asked again.
fn is_open(
    read: &mut impl Read,
    known: &mut BTreeMap<i64, bool>,
    run: i64,
    kind: &str,
) -> Result<bool, StoreError> {
    if run == 0 {
        return Ok(true);
    }
    if let Some(open) = known.get(&run) {
        return Ok(*open);
    }
    let open = load::allows_one_more(read, RunId::new(run), kind)?;
    known.insert(run, open);
    Ok(open)
}

/// Returns the first of a kind by rank. What should have timed out is not among them.
fn first(
    read: &mut impl Read,
    project: ProjectId,
    kind: &str,
) -> Result<Vec<Candidate>, StoreError> {
    let now = read.now().lease;
    read.rows(
        "select q.dispatch_id, q.run_id, q.priority
         from dispatch_queue q join dispatch d on d.id = q.dispatch_id
         where q.project_id = ?1 and q.agent_kind = ?2 and q.not_before_lease_us <= ?3
             and (d.deadline_lease_us is null or d.deadline_lease_us > ?3)
         order by q.priority desc, q.dispatch_id limit cast(?4 as bigint)",
        params![project, kind, now, FIRST_CANDIDATES],
        candidate,
    )
}

/// Returns the runs that have something for a kind, each found by one step through the index.
fn runs(read: &mut impl Read, project: ProjectId, kind: &str) -> Result<Vec<i64>, StoreError> {
    read.rows(
        "with recursive waiting (run_id) as (
             select min(q.run_id) from dispatch_queue q
             where q.project_id = ?1 and q.agent_kind = ?2
             union all
             select (select min(q.run_id) from dispatch_queue q
                 where q.project_id = ?1 and q.agent_kind = ?2 and q.run_id > w.run_id)
             from waiting w where w.run_id is not null)
         select run_id from waiting where run_id is not null",
        params![project, kind],
        Row::take,
    )
}

/// Returns the first of a run by rank.
fn first_of_run(
    read: &mut impl Read,
    project: ProjectId,
    kind: &str,
    run: i64,
) -> Result<Option<Candidate>, StoreError> {
    let now = read.now().lease;
    read.row(
        "select q.dispatch_id, q.run_id, q.priority
         from dispatch_queue q join dispatch d on d.id = q.dispatch_id
         where q.project_id = ?1 and q.agent_kind = ?2 and q.run_id = ?3
             and q.not_before_lease_us <= ?4
             and (d.deadline_lease_us is null or d.deadline_lease_us > ?4)
         order by q.priority desc, q.dispatch_id limit 1",
        params![project, kind, run, now],
        candidate,
    )
}

/// Returns when the next back-off in a project's queue passes.
pub(super) fn next_back_off(
    read: &mut impl Read,
    project: ProjectId,
) -> Result<Option<LeaseTime>, StoreError> {
    let now = read.now().lease;
    read.row(
        "select not_before_lease_us from dispatch_queue
         where project_id = ?1 and not_before_lease_us > ?2
         order by not_before_lease_us limit 1",
        params![project, now],
        Row::take,
    )
}

fn candidate(row: &mut Row) -> Result<Candidate, StoreError> {
    Ok(Candidate {
        id: row.take()?,
        run: row.take()?,
        priority: row.take()?,
    })
}
