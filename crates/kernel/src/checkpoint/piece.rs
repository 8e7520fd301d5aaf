//! Removes events that were pruned, the oldest first and not many at a time.

use comity_domain::Seq;
use comity_domain::limits::PRUNE_PIECE;

use crate::actor::{Actor, Party};
use crate::archive::run_page::RUN_EVENTS_SHOWN;
use crate::error::Error;
use crate::params;
use crate::query::Query;
use crate::store::job::Upkeep;
use crate::store::{Row, Rows, StoreError};
use crate::tx::{Read, Snapshot, UpkeepTx};

/// Asks whether events are still there that were pruned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IsLeft;

impl Query for IsLeft {
    const NAME: &'static str = "is_pruned_and_left";
    const WHO: &'static [Party] = &[];
    type Answer = bool;

    fn run(&self, _: &Actor, snapshot: &mut Snapshot<'_>) -> Result<bool, Error> {
        Ok(!oldest(snapshot, 1)?.is_empty())
    }
}

/// Returns the oldest events that were pruned and are still there.
fn oldest(read: &mut impl Read, limit: i64) -> Result<Vec<Seq>, StoreError> {
    read.rows(
        "select seq from event where seq <= (select pruned_to from log_head)
         order by seq limit cast(?1 as bigint)",
        params![limit],
        Row::take,
    )
}

/// Removes some of them.
pub(crate) struct PrunePiece;

impl Upkeep for PrunePiece {
    fn run(&self, tx: &mut UpkeepTx<'_, '_>) -> Result<(), StoreError> {
        let piece = oldest(tx, PRUNE_PIECE)?;
        let Some(last) = piece.last() else {
            return Ok(());
        };
        keep_of_runs(tx, *last)?;
        tx.hit("prune.piece")?;
        // One by one: the log lets nothing go but its oldest event.
        for seq in &piece {
            let sql = "delete from event where seq = ?1";
            tx.write(sql, params![*seq], Rows::Exactly(1))?;
        }
        tx.hit("prune.piece_gone")
    }
}

/// Keeps what the pages of runs show: how many events each had, the last of them, and the newest of
/// each kind that steers it. So a page is the same whether or not its run's beginning was pruned.
fn keep_of_runs(tx: &mut UpkeepTx<'_, '_>, last: Seq) -> Result<(), StoreError> {
    tx.write(
        "insert into pruned_run (run, events)
         select run, count(*) from event where seq <= ?1 and run is not null group by run
         on conflict (run) do update set events = pruned_run.events + excluded.events",
        params![last],
        Rows::Any,
    )?;
    tx.write(
        "insert into pruned_event (seq, at, v, kind, project, actor, subject_type, subject_id, run,
            correlation, payload_sha256, payload, hash)
         select seq, at, v, kind, project, actor, subject_type, subject_id, run, correlation,
            payload_sha256, payload, hash
         from event where seq <= ?1 and run is not null",
        params![last],
        Rows::Any,
    )?;
    tx.write(
        "delete from pruned_event where run in (
                select run from event where seq <= ?1 and run is not null)
            and seq not in (
                select seq from (
                    select seq, row_number() over (partition by run order by seq desc) as place
                    from pruned_event where run in (
                        select run from event where seq <= ?1 and run is not null)
                ) placed where place <= ?2)
            and seq not in (
                select max(seq) from pruned_event where run in (
                        select run from event where seq <= ?1 and run is not null)
                    and kind in
                    ('run_created', 'run_updated', 'run_advanced', 'gate_overridden',
                    'run_rolled_back', 'run_paused', 'run_resumed', 'run_cancelled', 'run_failed')
                group by run, kind)",
        params![last, RUN_EVENTS_SHOWN],
        Rows::Any,
    )
}
