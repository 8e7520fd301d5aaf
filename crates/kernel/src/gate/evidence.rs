//! What checks look at: one statement each, through whatever transaction asks.

use comity_domain::limits::EVIDENCE_MAX;
use comity_domain::{Approver, Phase, RunId};

use super::evaluate::{Found, counted};
use crate::params;
use crate::store::{Row, StoreError};
use crate::tx::Read;

/// Passes if something is there.
fn some(numbers: Vec<i64>, what: [&str; 2], more: &str) -> Found {
    Found {
        passed: !numbers.is_empty(),
        detail: format!("{}{more}", counted(numbers.len(), what)),
        evidence: numbers,
    }
}

/// Passes if nothing is there.
fn none(numbers: Vec<i64>, what: [&str; 2], more: &str) -> Found {
    Found {
        passed: numbers.is_empty(),
        ..some(numbers, what, more)
    }
}

/// Looks for an artifact of a phase, of a kind if one is named.
pub(super) fn artifact(
    read: &mut impl Read,
    run: RunId,
    phase: &Phase,
    kind: Option<&str>,
) -> Result<Found, StoreError> {
    let found = read.rows(
        "select id from artifact where run_id = ?1 and phase = ?2 and withdrawn_at is null
         and (cast(?3 as text) is null or kind = cast(?3 as text)) order by id limit ?4",
        params![run, &**phase, kind, EVIDENCE_MAX],
        Row::take,
    )?;
    let more = match kind {
        Some(kind) => format!(" of kind `{kind}` in `{phase}`"),
        None => format!(" in `{phase}`"),
    };
    Ok(some(found, ["artifact", "artifacts"], &more))
}

/// Looks for agents of a run that are at work; who is retired works no more.
pub(super) fn agents(read: &mut impl Read, run: RunId) -> Result<Found, StoreError> {
    let active = read.rows(
        "select ra.agent_id from run_agent ra join agent a on a.id = ra.agent_id
         where ra.run_id = ?1 and ra.outcome is null and a.retired_at is null
         order by ra.agent_id",
        params![run],
        Row::take,
    )?;
    Ok(none(active, ["active agent", "active agents"], ""))
}

/// Looks for open dispatches of a run.
pub(super) fn dispatches(read: &mut impl Read, run: RunId) -> Result<Found, StoreError> {
    let open = read.rows(
        "select id from dispatch where run_id = ?1 and state in ('queued', 'spawned', 'running')
         order by id limit ?2",
        params![run, EVIDENCE_MAX],
        Row::take,
    )?;
    Ok(none(open, ["open dispatch", "open dispatches"], ""))
}

/// Looks for a verdict on a phase that is one.
pub(super) fn verdict(
    read: &mut impl Read,
    run: RunId,
    phase: &Phase,
) -> Result<Found, StoreError> {
    let found = read.rows(
        "select id from verdict where run_id = ?1 and phase = ?2 and verdict <> 'reject'
         and withdrawn_at is null order by id limit ?3",
        params![run, &**phase, EVIDENCE_MAX],
        Row::take,
    )?;
    Ok(some(
        found,
        ["verdict", "verdicts"],
        &format!(" in `{phase}`"),
    ))
}

/// The same, with none among them that fails.
pub(super) fn clean_verdict(
    read: &mut impl Read,
    run: RunId,
    phase: &Phase,
) -> Result<Found, StoreError> {
    let failing: Vec<i64> = read.rows(
        "select id from verdict where run_id = ?1 and phase = ?2 and verdict = 'fail'
         and withdrawn_at is null order by id limit ?3",
        params![run, &**phase, EVIDENCE_MAX],
        Row::take,
    )?;
    if failing.is_empty() {
        return verdict(read, run, phase);
    }
    Ok(none(
        failing,
        ["failing verdict", "failing verdicts"],
        &format!(" in `{phase}`"),
    ))
}

/// Looks for an approval of a phase; the operator's counts for every role.
pub(super) fn approval(
    read: &mut impl Read,
    run: RunId,
    phase: &Phase,
    role: Approver,
) -> Result<Found, StoreError> {
    let found = read.rows(
        "select id from approval where run_id = ?1 and phase = ?2
         and (role = ?3 or role = 'operator') and withdrawn_at is null order by id limit ?4",
        params![run, &**phase, role.as_str(), EVIDENCE_MAX],
        Row::take,
    )?;
    let more = format!(" of `{phase}` by the {}", role.as_str());
    Ok(some(found, ["approval", "approvals"], &more))
}
