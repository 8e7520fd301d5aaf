//! How much of a run's work is in hand, open or paid for, everything below it included.

use comity_domain::limits::OPEN_DISPATCHES_MAX;
use comity_domain::{DispatchId, RunId};

use crate::error::Error;
use crate::params;
use crate::run::Run;
use crate::run::table::{self as run_table, below};
use crate::store::{Row, StoreError};
use crate::tx::Read;

/// Counts what is in hand; a claim whose time is up holds nothing. That the state is open is said as
/// the index says it, and the count is one of each run: a join leaves it to the engine to read the open
/// dispatches of all runs instead, as SQLite does once it has statistics.
fn in_hand(read: &mut impl Read, run: RunId) -> Result<i64, StoreError> {
    let now = read.now().lease;
    read.one(
        below!(
            "select cast(sum((
                 select count(*) from dispatch d where d.run_id = b.id
                     and d.state in ('queued', 'spawned', 'running')
                     and d.state in ('spawned', 'running') and d.claim_lease_us > ?2)) as bigint)
             from below b"
        ),
        params![run, now],
        Row::take,
    )
}

/// Counts what is in the hands of one kind of agent.
fn in_hand_of_kind(read: &mut impl Read, run: RunId, kind: &str) -> Result<i64, StoreError> {
    let now = read.now().lease;
    read.one(
        below!(
            "select cast(sum((
                 select count(*) from dispatch d where d.run_id = b.id
                     and d.state in ('queued', 'spawned', 'running')
                     and d.state in ('spawned', 'running') and d.claim_lease_us > ?2
                     and d.agent_kind = ?3)) as bigint)
             from below b"
        ),
        params![run, now, kind],
        Row::take,
    )
}

fn open(read: &mut impl Read, run: RunId) -> Result<i64, StoreError> {
    read.one(
        below!(
            "select cast(sum((
                 select count(*) from dispatch d where d.run_id = b.id
                     and d.state in ('queued', 'spawned', 'running'))) as bigint)
             from below b"
        ),
        params![run],
        Row::take,
    )
}

/// Tells whether work of a run may be handed to a kind of agent: the limits of the run and of
/// everything above it allow one more.
pub(super) fn allows_one_more(
    read: &mut impl Read,
    run: RunId,
    kind: &str,
) -> Result<bool, StoreError> {
    let Some(run) = run_table::by_id(read, run)? else {
        return Ok(false);
    };
    let above = run_table::ancestors(read, &run)?;
    for one in std::iter::once(&run).chain(&above) {
        if !has_room(read, one, kind)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn has_room(read: &mut impl Read, run: &Run, kind: &str) -> Result<bool, StoreError> {
    if let Some(most) = run.max_dispatches
        && in_hand(read, run.id)? >= most
    {
        return Ok(false);
    }
    if let Some(most) = run.max_per_kind.get(kind)
        && in_hand_of_kind(read, run.id, kind)? >= *most
    {
        return Ok(false);
    }
    match run.token_budget.filter(|_| run.budget_enforced) {
        Some(budget) => Ok(run_table::tokens_below(read, run.id)? < budget),
        None => Ok(true),
    }
}

/// Refuses one more than a portfolio may have open.
pub(super) fn must_fit(read: &mut impl Read, run: Option<&Run>) -> Result<(), Error> {
    let Some(run) = run else {
        return Ok(());
    };
    let above = run_table::ancestors(read, run)?;
    let root = above.last().map_or(run.id, |root| root.id);
    if open(read, root)? < OPEN_DISPATCHES_MAX {
        return Ok(());
    }
    Err(Error::LimitExceeded {
        what: "the number of open dispatches of one portfolio",
        limit: OPEN_DISPATCHES_MAX.unsigned_abs(),
    })
}

/// Finds the work that a dispatch is to wait for, by its first attempts.
pub(super) fn origins(
    read: &mut impl Read,
    project: comity_domain::ProjectId,
    ids: &[DispatchId],
) -> Result<Vec<DispatchId>, Error> {
    let mut origins = Vec::new();
    for id in ids {
        let origin = super::table::origin(read, project, *id)?
            .ok_or_else(|| Error::invalid("depends_on", format!("there is no dispatch {id}")))?;
        origins.push(origin);
    }
    origins.sort_unstable();
    origins.dedup();
    Ok(origins)
}
