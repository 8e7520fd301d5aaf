//! Links between runs: reading rows.

use comity_domain::RunId;

use crate::params;
use crate::store::{Row, StoreError};
use crate::tx::Read;

/// Returns the numbers of the runs that a run waits for.
pub(super) fn upstream_ids(read: &mut impl Read, run: RunId) -> Result<Vec<RunId>, StoreError> {
    read.rows(
        "select upstream_id from run_link where downstream_id = ?1 order by upstream_id",
        params![run],
        Row::take,
    )
}

/// Returns the numbers of the runs that a run may wait for: those it is linked to, and its children.
pub(super) fn waited_for(read: &mut impl Read, run: RunId) -> Result<Vec<RunId>, StoreError> {
    read.rows(
        "select upstream_id from run_link where downstream_id = ?1
         union all select id from run where parent_id = ?1",
        params![run],
        Row::take,
    )
}

/// Tells whether one run waits for another.
pub(super) fn is_linked(
    read: &mut impl Read,
    upstream: RunId,
    downstream: RunId,
) -> Result<bool, StoreError> {
    read.one(
        "select count(*) from run_link where downstream_id = ?2 and upstream_id = ?1",
        params![upstream, downstream],
        |row| Ok(row.take::<i64>()? > 0),
    )
}
