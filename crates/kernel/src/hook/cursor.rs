//! Where a hook stands: kept off the log, in the transaction that adds or removes the hook.

use comity_domain::{HookId, HookSecret, Seq};

use crate::params;
use crate::store::{Rows, StoreError};
use crate::tx::{Batch, Read as _, WriteTx};

/// What a command on hooks writes off the log.
pub(crate) enum Keep<'a> {
    /// A new hook's place and secret.
    Begin(HookId, Seq, Option<&'a HookSecret>),
    /// Nothing of a hook that is removed.
    Forget(HookId),
    /// A dead letter that waits again.
    Revive(HookId, Seq),
}

/// Writes it; the transaction calls this, nobody else can.
pub(crate) fn keep(batch: &mut Batch<'_>, keep: &Keep<'_>) -> Result<(), StoreError> {
    let now = batch.now;
    match keep {
        Keep::Begin(hook, through, secret) => batch.write(
            "insert into hook_cursor (hook_id, through, secret, moved_at) values (?1, ?2, ?3, ?4)",
            params![
                *hook,
                *through,
                secret.map(|secret| secret.bytes().as_slice()),
                now.at
            ],
            Rows::Exactly(1),
        ),
        Keep::Forget(hook) => {
            let sql = "delete from hook_delivery where hook_id = ?1";
            batch.write(sql, params![*hook], Rows::Any)?;
            let sql = "delete from hook_cursor where hook_id = ?1";
            batch.write(sql, params![*hook], Rows::Any)
        }
        Keep::Revive(hook, seq) => batch.write(
            "update hook_delivery set dead_at = null, attempts = 0, next_lease_us = ?3
             where hook_id = ?1 and seq = ?2 and dead_at is not null",
            params![*hook, *seq, now.lease],
            Rows::Exactly(1),
        ),
    }
}

/// Tells whether a hook's event is a dead letter.
pub(super) fn is_dead(
    tx: &mut WriteTx<'_, '_>,
    hook: HookId,
    seq: Seq,
) -> Result<bool, StoreError> {
    let sql = "select 1 from hook_delivery where hook_id = ?1 and seq = ?2 and dead_at is not null";
    let found = tx.row(sql, params![hook, seq], crate::store::Row::take::<i64>)?;
    Ok(found.is_some())
}
