//! Looks at what is kept twice: who is in the queue, and what work has cost.

use super::apply::claimable;
use crate::error::Error;
use crate::store::Row;
use crate::tx::Read;

/// Finds something in the queue that may not be claimed, or not so.
const WRONGLY_QUEUED: &str = concat!(
    "select q.dispatch_id from dispatch_queue q where not exists (select 1 ",
    claimable!(
        "d.id = q.dispatch_id and d.project_id = q.project_id and d.agent_kind = q.agent_kind
             and coalesce(d.run_id, 0) = q.run_id and d.priority = q.priority
             and d.not_before_lease_us = q.not_before_lease_us"
    ),
    ") limit 1"
);

/// Finds something that may be claimed and is not in the queue.
const NOT_QUEUED: &str = concat!(
    "select d.id ",
    claimable!("not exists (select 1 from dispatch_queue q where q.dispatch_id = d.id)"),
    " limit 1"
);

/// Finds a run whose tokens are not those of its dispatches.
const WRONG_TOKENS: &str = "select id from (
        select id, tokens from run
        union all
        select run_id, -tokens from dispatch where run_id is not null) counted
    group by id having sum(tokens) <> 0 limit 1";

/// Compares the queue with what may be claimed, and the tokens of runs with those of their work.
pub(crate) fn kept_twice(read: &mut impl Read) -> Result<String, Error> {
    let checks = [
        (
            WRONGLY_QUEUED,
            ["dispatch", "is in the queue as it may not be"],
        ),
        (NOT_QUEUED, ["dispatch", "is missing in the queue"]),
        (
            WRONG_TOKENS,
            ["run", "has other tokens than its dispatches"],
        ),
    ];
    for (sql, [what, wrong]) in checks {
        if let Some(id) = read.row(sql, &[], Row::take::<i64>)? {
            return Err(Error::Damaged {
                what: format!("{what} {id} {wrong}"),
            });
        }
    }
    Ok("the queue and the tokens of runs are what the dispatches say".to_owned())
}
