//! What a holder may do with a lease of its own, and what it is told otherwise (F9).

use comity_domain::{LeaseEnd, LeaseTime, Seq};

use super::conflict::{self, Wanted};
use super::event::LeaseRenewed;
use super::table::{self, Lease};
use crate::actor::Actor;
use crate::error::Error;
use crate::lock::table as lock_table;
use crate::tx::{Read, WriteTx};

/// Returns who holds what this actor takes; nobody is the operator.
pub(crate) fn holder(actor: &Actor) -> Option<comity_domain::AgentId> {
    match actor {
        Actor::Agent { agent, .. } => Some(*agent),
        Actor::Operator { .. } | Actor::Observer { .. } | Actor::System => None,
    }
}

/// Refuses a lease that is another's, has another fence, or has ended.
pub(crate) fn must_hold(
    read: &mut impl Read,
    actor: &Actor,
    lease: &Lease,
    fence: Option<Seq>,
) -> Result<(), Error> {
    if lease.agent != holder(actor) {
        return Err(Error::NotHolder {
            what: lease.pattern.clone(),
            held_by: lease.held_by.clone(),
        });
    }
    if let Some(expected) = fence
        && expected != lease.fence
    {
        return Err(Error::VersionConflict {
            expected: expected.get(),
            present: lease.fence.get(),
        });
    }
    must_be_active(read, lease)
}

/// Refuses a lease that has ended; of one whose time was up, who has the same now is told.
pub(crate) fn must_be_active(read: &mut impl Read, lease: &Lease) -> Result<(), Error> {
    let what = lease.pattern.clone();
    match lease.ended(read.now().lease) {
        None => Ok(()),
        Some(LeaseEnd::Expired) => Err(Error::LeaseExpired {
            what,
            holders: present_holders(read, lease)?,
        }),
        Some(ended) => Err(Error::LeaseEnded { what, ended }),
    }
}

/// Finds who holds now what a lease covered.
fn present_holders(read: &mut impl Read, lease: &Lease) -> Result<Vec<super::Conflict>, Error> {
    if lease.is_lock {
        let active = lock_table::active(read, lease.project_id, &lease.pattern)?;
        let other = active.filter(|other| other.agent != lease.agent);
        return Ok(conflict::show(read, other.into_iter().collect())?);
    }
    let project = crate::project::table::by_id(read, lease.project_id)?;
    let case_insensitive = project.is_some_and(|project| project.case_insensitive);
    let pattern = table::compared(&lease.pattern, case_insensitive)?;
    let wanted = Wanted {
        project: lease.project_id,
        holder: lease.agent,
        patterns: &[pattern],
        exclusive: true,
    };
    let leases = conflict::in_the_way(read, &wanted)?;
    let leases = leases.into_iter().map(|(lease, _)| lease).collect();
    Ok(conflict::show(read, leases)?)
}

/// Lets a lease last until then, if that is later than it lasts anyway.
pub(crate) fn extend(
    tx: &mut WriteTx<'_, '_>,
    lease: &Lease,
    until: LeaseTime,
) -> Result<(), Error> {
    if until > lease.expires {
        tx.emit(LeaseRenewed {
            id: lease.id,
            project: lease.project_id,
            renewed: tx.now().lease,
            expires: until,
        })?;
    }
    Ok(())
}

/// Returns the end of a lease that begins now.
pub(crate) fn until(read: &impl Read, ttl: Option<comity_domain::Ttl>) -> LeaseTime {
    let ttl_us = ttl.map_or(read.memory().lease_ttl_us, comity_domain::Ttl::micros);
    LeaseTime::from_micros(read.now().lease.micros().saturating_add(ttl_us))
}
