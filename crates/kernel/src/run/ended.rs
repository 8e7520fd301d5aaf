//! What ends with a run: its open dispatches, and the leases that belong to it.

use comity_domain::{DispatchId, ReservationId};

use super::table::Run;
use crate::dispatch::event::{DispatchCancelled, Which};
use crate::error::Error;
use crate::params;
use crate::reservation::event::LeaseForced;
use crate::reservation::table as leases;
use crate::store::{Row, StoreError};
use crate::tx::{Read, WriteTx};

/// What was ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) dispatches: Vec<DispatchId>,
    pub(crate) leases: Vec<ReservationId>,
}

/// Cancels the open dispatches of a run and ends its leases.
pub(crate) fn end_all(tx: &mut WriteTx<'_, '_>, run: &Run, reason: &str) -> Result<Ended, Error> {
    let dispatches = cancel_open(tx, run, reason)?;
    let now = tx.now();
    let mut ended = Vec::new();
    for lease in leases::of_run(tx, run.id)? {
        if lease.is_active(now.lease) {
            tx.emit(LeaseForced {
                ended: lease.to_end(now),
                reason: reason.to_owned(),
            })?;
            ended.push(lease.id);
        }
    }
    Ok(Ended {
        dispatches,
        leases: ended,
    })
}

/// Cancels the open dispatches of a run.
pub(crate) fn cancel_open(
    tx: &mut WriteTx<'_, '_>,
    run: &Run,
    reason: &str,
) -> Result<Vec<DispatchId>, Error> {
    let open = open(tx, run)?;
    for id in &open {
        tx.emit(DispatchCancelled {
            which: Which {
                id: *id,
                project: run.project_id,
                run: Some(run.id),
            },
            reason: reason.to_owned(),
        })?;
    }
    Ok(open)
}

fn open(read: &mut impl Read, run: &Run) -> Result<Vec<DispatchId>, StoreError> {
    read.rows(
        "select id from dispatch where run_id = ?1 and state in ('queued', 'spawned', 'running')
         order by id",
        params![run.id],
        Row::take,
    )
}
