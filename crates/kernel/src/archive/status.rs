//! How an archive stands.

use comity_domain::{Seq, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::position::ArchiveId;
use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::params;
use crate::query::Query;
use crate::tx::{Read, Snapshot};

/// How an archive stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArchiveStatus {
    /// What it is doing.
    pub state: ArchiveState,
    /// Why, where it is not doing well, and what to do about it.
    pub detail: String,
    /// Where the repository is.
    pub repository: String,
    /// The last event that is in it.
    pub through: Seq,
    /// How many events are not in it yet.
    pub lag: i64,
    /// When the oldest of them happened.
    pub oldest_at: Option<Timestamp>,
    /// How many of its events were redacted since it was last known to hold nothing redacted: it may
    /// still hold what they said.
    #[serde(default)]
    pub redacted_since_rebuild: i64,
    /// Since when it is not doing well.
    pub degraded_since: Option<Timestamp>,
    /// How many files are in quarantine.
    pub quarantined_count: i64,
    /// The first of them.
    pub quarantined: Vec<Quarantined>,
}

/// What an archive is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArchiveState {
    /// It follows the log.
    Following,
    /// It is behind and cannot go on by itself just now; it tries again.
    Degraded,
    /// Something must be done by a person.
    Stopped,
    /// Nobody writes it: no server runs.
    Resting,
    /// It is switched off.
    Off,
}

/// A file that could not be written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Quarantined {
    /// The event it belongs to.
    pub seq: Seq,
    /// Its path in the archive.
    pub path: String,
    /// Why it could not be written.
    pub reason: String,
    /// When that was found out.
    pub since: Timestamp,
}

/// Asks what is left to archive and what is in quarantine.
#[derive(Clone, Debug)]
pub struct ArchiveLag {
    /// The archive.
    pub archive: ArchiveId,
    /// The last event that is in it.
    pub through: Seq,
    /// How many quarantined entries are told at most.
    pub quarantined_max: i64,
}

/// What is left to archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lag {
    /// How many events are not in it yet.
    pub events: i64,
    /// When the oldest of them happened.
    pub oldest_at: Option<Timestamp>,
    /// How many files are in quarantine.
    pub quarantined_count: i64,
    /// The first of them.
    pub quarantined: Vec<Quarantined>,
}

impl Query for ArchiveLag {
    const NAME: &'static str = "archive_lag";
    const WHO: &'static [Party] = &[];
    type Answer = Lag;

    fn run(&self, _: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Lag, Error> {
        let head = snapshot.head();
        let oldest_at = snapshot.row(
            "select at from event where seq = ?1",
            params![self.through.next()],
            crate::store::Row::take,
        )?;
        let quarantined_count = snapshot.one(
            "select count(*) from quarantine where archive_id = ?1",
            params![&*self.archive],
            crate::store::Row::take,
        )?;
        let quarantined = snapshot.rows(
            "select seq, path, reason, added_at from quarantine where archive_id = ?1
             order by seq, path limit cast(?2 as bigint)",
            params![&*self.archive, self.quarantined_max],
            |row| {
                Ok(Quarantined {
                    seq: row.take()?,
                    path: row.take()?,
                    reason: row.take()?,
                    since: row.take()?,
                })
            },
        )?;
        let left_out: i64 = snapshot.one(
            "select coalesce(cast(sum(id - after_seq - 1) as bigint), 0) from epoch where id > ?1",
            params![self.through],
            crate::store::Row::take,
        )?;
        Ok(Lag {
            events: (head.get() - self.through.get() - left_out).max(0),
            oldest_at,
            quarantined_count,
            quarantined,
        })
    }
}
