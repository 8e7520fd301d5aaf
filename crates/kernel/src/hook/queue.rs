//! The events that wait for a hook: how they get there, and what becomes of them.

use comity_domain::limits::HOOK_REASON_BYTES_MAX;
use comity_domain::{HookId, Seq};

use super::deliverer::holds;
use crate::params;
use crate::store::job::Upkeep;
use crate::store::{Row, Rows, StoreError};
use crate::tx::{Read as _, UpkeepTx};

/// An event for a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Its place in the log.
    pub seq: Seq,
    /// What it is about.
    pub subject: (String, i64),
}

/// Moves a hook's place on; what it wants of the part of the log between waits from now on.
#[derive(Clone, Debug)]
pub struct Taken {
    /// The hook.
    pub hook: HookId,
    /// Where it stood.
    pub from: Seq,
    /// Where it stands now.
    pub through: Seq,
    /// What it wants of it.
    pub wanted: Vec<Waiting>,
}

/// What became of one try.
#[derive(Clone, Debug)]
pub struct Tried {
    /// The hook.
    pub hook: HookId,
    /// The event.
    pub seq: Seq,
    /// How it went.
    pub ended: Ended,
}

/// How a try ended.
#[derive(Clone, Debug)]
pub enum Ended {
    /// It was told.
    Told,
    /// It was not; it rests so long before the next try.
    Failed {
        /// Why.
        reason: String,
        /// How long.
        rest_us: i64,
    },
    /// It was not, and is not tried again.
    GivenUp {
        /// Why.
        reason: String,
    },
}

/// What a server that tells hooks writes, as long as nobody has replaced it.
#[derive(Clone, Debug)]
pub(crate) struct Move {
    pub(crate) fence: i64,
    pub(crate) taken: Vec<Taken>,
    pub(crate) tried: Vec<Tried>,
}

impl Upkeep for Move {
    fn run(&self, tx: &mut UpkeepTx<'_, '_>) -> Result<(), StoreError> {
        tx.hit("hooks.move")?;
        if !holds(tx, self.fence)? {
            return Ok(());
        }
        self.tried.iter().try_for_each(|tried| settle(tx, tried))?;
        self.taken.iter().try_for_each(|taken| take(tx, taken))
    }
}

fn take(tx: &mut UpkeepTx<'_, '_>, taken: &Taken) -> Result<(), StoreError> {
    let sql = "select through from hook_cursor where hook_id = ?1";
    let found = tx.row(sql, params![taken.hook], Row::take::<Seq>)?;
    if found != Some(taken.from) {
        // It was removed, or this was done before.
        return Ok(());
    }
    let now = tx.now();
    for wanted in &taken.wanted {
        tx.write(
            "insert into hook_delivery
                (hook_id, seq, subject_type, subject_id, attempts, next_lease_us)
             values (?1, ?2, ?3, ?4, 0, ?5) on conflict (hook_id, seq) do nothing",
            params![
                taken.hook,
                wanted.seq,
                &wanted.subject.0,
                wanted.subject.1,
                now.lease,
            ],
            Rows::Any,
        )?;
    }
    tx.write(
        "update hook_cursor set through = ?2, moved_at = ?3 where hook_id = ?1",
        params![taken.hook, taken.through, now.at],
        Rows::Exactly(1),
    )
}

fn settle(tx: &mut UpkeepTx<'_, '_>, tried: &Tried) -> Result<(), StoreError> {
    let now = tx.now();
    // A hook that was removed meanwhile has no rows.
    match &tried.ended {
        Ended::Told => tx.write(
            "delete from hook_delivery where hook_id = ?1 and seq = ?2 and dead_at is null",
            params![tried.hook, tried.seq],
            Rows::Any,
        ),
        Ended::Failed { reason, rest_us } => tx.write(
            "update hook_delivery
             set attempts = attempts + 1, next_lease_us = ?3, last_error = ?4
             where hook_id = ?1 and seq = ?2 and dead_at is null",
            params![
                tried.hook,
                tried.seq,
                now.lease.micros().saturating_add(*rest_us),
                &cut(reason),
            ],
            Rows::Any,
        ),
        Ended::GivenUp { reason } => tx.write(
            "update hook_delivery set attempts = attempts + 1, last_error = ?3, dead_at = ?4
             where hook_id = ?1 and seq = ?2 and dead_at is null",
            params![tried.hook, tried.seq, &cut(reason), now.at],
            Rows::Any,
        ),
    }
}

/// Keeps the beginning of a reason, on one line and without what a database or terminal minds.
fn cut(reason: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let mut text = String::new();
    for c in reason.chars().map(plain) {
        if text.len() + c.len_utf8() > HOOK_REASON_BYTES_MAX {
            break;
        }
        text.push(c);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    // S6
    #[test]
    fn a_reason_is_one_short_line() {
        assert_eq!(cut("a\0b\r\nc\u{1b}[2J"), "a b  c [2J");
        let long = cut(&"\u{e9}".repeat(HOOK_REASON_BYTES_MAX));
        assert_eq!(long.len(), HOOK_REASON_BYTES_MAX);
    }
}
