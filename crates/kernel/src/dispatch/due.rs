//! Writes down that deadlines have passed and that claims were lost.

use comity_domain::limits::DUE_MAX;
use comity_domain::{AgentId, LeaseTime, ProjectId};
use serde::{Deserialize, Serialize};

use super::event::{DispatchReturned, DispatchTimedOut, Which};
use super::table::{self, Stored, which};
use crate::actor::{Actor, Party};
use crate::command::{Command, Stop};
use crate::error::Error;
use crate::params;
use crate::query::Query;
use crate::store::{Row, StoreError};
use crate::tx::{Read, Snapshot, WriteTx};

/// Why a claim ends that its claimant did not extend.
const UNHEARD: &str = "its worker was not heard of in time";

/// Asks whether there is anything to write down.
pub(crate) struct DueDispatches;

impl Query for DueDispatches {
    const NAME: &'static str = "due_dispatches";
    const WHO: &'static [Party] = &[];
    type Answer = bool;

    fn run(&self, _actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<bool, Error> {
        Ok(is_any(snapshot, None)?)
    }
}

/// Settles dispatches whose deadline has passed, and returns those whose claim was lost.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SweepDispatches;

/// What was written.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct SweptDispatches {
    /// Whether there may be more.
    pub(crate) more: bool,
}

impl Command for SweepDispatches {
    const NAME: &'static str = "sweep_dispatches";
    const WHO: &'static [Party] = &[];
    type Answer = SweptDispatches;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<SweptDispatches, Stop> {
        let more = write_down(tx, None)?;
        Ok(SweptDispatches { more })
    }
}

/// Writes down what is due, of one project or of all; tells whether there may be more.
///
/// A deadline comes first: what has lost its claim as well is not handed out again.
pub(super) fn write_down(
    tx: &mut WriteTx<'_, '_>,
    project: Option<ProjectId>,
) -> Result<bool, Error> {
    let timed_out = overdue(tx, project, DUE_MAX)?;
    tx.hit("dispatch.after_check")?;
    for which in &timed_out {
        time_out(tx, *which)?;
    }
    let lost = lost(tx, project, DUE_MAX)?;
    for (which, claimant) in &lost {
        give_back(tx, *which, *claimant, UNHEARD)?;
    }
    let most = timed_out.len().max(lost.len());
    Ok(i64::try_from(most).unwrap_or(i64::MAX) >= DUE_MAX)
}

/// Times a dispatch out if its deadline has passed, and tells whether it did.
pub(super) fn lapse(tx: &mut WriteTx<'_, '_>, dispatch: &Stored) -> Result<bool, Error> {
    let overdue = dispatch.is_overdue(tx.now().lease);
    if overdue {
        time_out(tx, dispatch.which())?;
    }
    Ok(overdue)
}

/// Returns everything that an agent has in hand.
pub(crate) fn give_back_all(
    tx: &mut WriteTx<'_, '_>,
    agent: AgentId,
    reason: &str,
) -> Result<(), Error> {
    for which in table::held_by(tx, agent)? {
        give_back(tx, which, Some(agent), reason)?;
    }
    Ok(())
}

fn time_out(tx: &mut WriteTx<'_, '_>, which: Which) -> Result<(), Error> {
    let timed_out = tx.now().lease;
    tx.emit(DispatchTimedOut { which, timed_out })?;
    Ok(())
}

fn give_back(
    tx: &mut WriteTx<'_, '_>,
    which: Which,
    claimant: Option<AgentId>,
    reason: &str,
) -> Result<(), Error> {
    tx.emit(DispatchReturned {
        which,
        claimant,
        returned: tx.now().lease,
        reason: reason.to_owned(),
    })?;
    Ok(())
}

/// Tells whether anything is due, of one project or of all.
pub(super) fn is_any(read: &mut impl Read, project: Option<ProjectId>) -> Result<bool, StoreError> {
    Ok(!overdue(read, project, 1)?.is_empty() || !lost(read, project, 1)?.is_empty())
}

fn overdue(
    read: &mut impl Read,
    project: Option<ProjectId>,
    limit: i64,
) -> Result<Vec<Which>, StoreError> {
    let now = read.now().lease;
    read.rows(
        "select id, project_id, run_id from dispatch
         where state in ('queued', 'spawned', 'running') and deadline_lease_us <= ?1
             and (cast(?2 as bigint) is null or project_id = cast(?2 as bigint))
         order by deadline_lease_us, id limit cast(?3 as bigint)",
        params![now, project, limit],
        which,
    )
}

fn lost(
    read: &mut impl Read,
    project: Option<ProjectId>,
    limit: i64,
) -> Result<Vec<(Which, Option<AgentId>)>, StoreError> {
    let now = read.now().lease;
    read.rows(
        "select id, project_id, run_id, claimant_id from dispatch
         where state in ('spawned', 'running') and claim_lease_us <= ?1
             and (cast(?2 as bigint) is null or project_id = cast(?2 as bigint))
         order by claim_lease_us, id limit cast(?3 as bigint)",
        params![now, project, limit],
        |row| Ok((which(row)?, row.take()?)),
    )
}

/// Returns when the next claim anywhere is lost or deadline passes, if nothing happens.
pub(super) fn next(read: &mut impl Read) -> Result<Option<LeaseTime>, StoreError> {
    let now = read.now().lease;
    let claim: Option<LeaseTime> = read.row(
        "select claim_lease_us from dispatch
         where state in ('spawned', 'running') and claim_lease_us > ?1
         order by claim_lease_us limit 1",
        params![now],
        Row::take,
    )?;
    let deadline: Option<LeaseTime> = read.row(
        "select deadline_lease_us from dispatch
         where state in ('queued', 'spawned', 'running') and deadline_lease_us > ?1
         order by deadline_lease_us limit 1",
        params![now],
        Row::take,
    )?;
    Ok(claim.into_iter().chain(deadline).min())
}
