//! How far the log may be pruned, and who still needs what would go.

use comity_domain::limits::ARCHIVE_ALIVE_US;
use comity_domain::{Seq, Span, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::prune::Pruned;
use super::table;
use crate::actor::{Actor, Party};
use crate::archive::ArchiveId;
use crate::archive::position::position;
use crate::consumer::furthest_behind;
use crate::error::Error;
use crate::hook::standing::lowest_position;
use crate::params;
use crate::query::Query;
use crate::store::{Row, StoreError};
use crate::tx::{Read, Snapshot};

/// Asks what pruning would do.
#[derive(Clone, Debug)]
pub struct PlanPrune {
    /// What is to be kept.
    pub keep: Keep,
    /// The archive that is to have the rest.
    pub archive: ArchiveId,
}

/// What is to be kept.
#[derive(Clone, Copy, Debug)]
pub enum Keep {
    /// Everything from an event on.
    From(Seq),
    /// Everything that happened this long ago or later.
    Younger(Span),
}

/// What pruning would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Up to where the log was pruned before.
    pub pruned_to: Seq,
    /// The last event that would go; that of before if none would.
    pub through: Seq,
    /// How many would go.
    pub events: i64,
    /// Who still needs some of them.
    pub in_the_way: Vec<Obstacle>,
    /// The schema of the database.
    pub schema: i64,
}

impl Plan {
    /// Says it as an answer.
    pub(crate) fn told(self, dry_run: bool) -> Pruned {
        Pruned {
            pruned_to: self.through,
            events: self.events,
            state_hash: None,
            in_the_way: self.in_the_way,
            dry_run,
        }
    }
}

/// Somebody who still needs a part of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Obstacle {
    /// Who: the archive, a consumer, hooks, or a redaction.
    pub what: String,
    /// The last event that may be pruned as far as they go.
    pub may_go_to: Seq,
}

impl Query for PlanPrune {
    const NAME: &'static str = "plan_prune";
    const WHO: &'static [Party] = &[];
    type Answer = Plan;

    fn run(&self, _: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Plan, Error> {
        let before = match self.keep {
            Keep::From(seq) => seq,
            Keep::Younger(age) => {
                let since = snapshot.now().at.micros().saturating_sub(age.micros());
                first_since(snapshot, Timestamp::from_micros(since))?
            }
        };
        let pruned_to = table::pruned_to(snapshot)?;
        let last: Option<Seq> = snapshot.one(
            "select max(seq) from event where seq < ?1 and seq > ?2",
            params![before, pruned_to],
            Row::take,
        )?;
        let through = last.unwrap_or(pruned_to);
        // The numbers that an epoch left out are no events.
        let left_out: i64 = snapshot.one(
            "select coalesce(cast(sum(id - after_seq - 1) as bigint), 0) from epoch
             where id > ?1 and id <= ?2",
            params![pruned_to, through],
            Row::take,
        )?;
        let events = through.get() - pruned_to.get() - left_out;
        Ok(Plan {
            pruned_to,
            through,
            events,
            in_the_way: in_the_way(snapshot, &self.archive, through)?,
            schema: table::schema(snapshot)?,
        })
    }
}

/// Returns the first event that happened at a time or later, or the next one to come. Clocks may be
/// put back; then it is one of those about that time.
fn first_since(read: &mut impl Read, since: Timestamp) -> Result<Seq, StoreError> {
    let (mut low, mut high) = (0, read.head().get() + 1);
    // All up to `low` are older; `high` is not.
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        let found = read.row(
            "select seq, at from event where seq >= ?1 order by seq limit 1",
            params![middle],
            |row| Ok((row.take::<i64>()?, row.take::<Timestamp>()?)),
        )?;
        match found {
            Some((seq, at)) if at < since => low = seq,
            _ => high = middle,
        }
    }
    Ok(Seq::new(high))
}

/// Finds who still needs some of the log up to an event.
pub(super) fn in_the_way(
    read: &mut impl Read,
    archive: &str,
    through: Seq,
) -> Result<Vec<Obstacle>, StoreError> {
    let mut found = Vec::new();
    let mut add = |what: String, may_go_to: Seq| {
        if may_go_to < through {
            found.push(Obstacle { what, may_go_to });
        }
    };
    let archived = position(read, archive)?.map_or(Seq::ZERO, |position| position.through);
    add(
        "the archive, which has not come further".to_owned(),
        archived,
    );
    // Another server of the workspace writes one of its own.
    let alive = read.now().at.micros().saturating_sub(ARCHIVE_ALIVE_US);
    let other: Option<(String, Seq)> = read.row(
        "select id, through from archive where id <> ?1 and moved_at >= ?2
         order by through limit 1",
        params![archive, alive],
        |row| Ok((row.take()?, row.take()?)),
    )?;
    if let Some((id, through)) = other {
        let what = format!("the archive {id} of another server, written in the last seven days");
        add(what, through);
    }
    let unwritten: Option<Seq> = read.one(
        "select min(q.seq) from quarantine q join archive a on a.id = q.archive_id
         where a.id = ?1 or a.moved_at >= ?2",
        params![archive, alive],
        Row::take,
    )?;
    if let Some(seq) = unwritten {
        let what = format!("the quarantine: files of event {seq} are not in the archive yet");
        add(what, before(seq));
    }
    if let Some(furthest) = furthest_behind(read)? {
        let what = format!("the durable consumer `{}`", furthest.name);
        add(what, furthest.acked_seq);
    }
    if let Some((hook, needed)) = lowest_position(read)? {
        add(format!("the hook {hook}, which was not told yet"), needed);
    }
    let parted: Option<(Seq, Seq)> = read.row(
        "select id, redacted_seq from redaction where id <= ?1 and redacted_seq > ?1
         order by id limit 1",
        params![through],
        |row| Ok((row.take()?, row.take()?)),
    )?;
    if let Some((seq, redacted)) = parted {
        let what =
            format!("the redaction of event {seq}, which is event {redacted}: both go or none");
        add(what, before(seq));
    }
    Ok(found)
}

const fn before(seq: Seq) -> Seq {
    Seq::new(seq.get() - 1)
}
