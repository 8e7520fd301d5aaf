//! Redactions: reading rows, and what is off the log.

use std::collections::BTreeMap;

use comity_domain::{Seq, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::log::Event;
use crate::params;
use crate::query::Query;
use crate::store::{Row, StoreError};
use crate::tx::{Read, Snapshot};

/// A redaction as callers see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Redaction {
    /// The event that was redacted.
    pub seq: Seq,
    /// Its kind.
    pub kind: String,
    /// Why.
    pub reason: String,
    /// The event that says so.
    pub redacted_seq: Seq,
    /// When.
    pub redacted_at: Timestamp,
}

pub(super) fn by_event(read: &mut impl Read, seq: Seq) -> Result<Option<Redaction>, StoreError> {
    read.row(
        "select id, kind, reason, redacted_seq, redacted_at from redaction where id = ?1",
        params![seq],
        |row| {
            Ok(Redaction {
                seq: row.take()?,
                kind: row.take()?,
                reason: row.take()?,
                redacted_seq: row.take()?,
                redacted_at: row.take()?,
            })
        },
    )
}

/// Returns the events that brought vectors of a discovery after it was submitted; none is redacted,
/// for those that are have no vector any more.
pub(super) fn came_later(read: &mut impl Read, event: &Event) -> Result<Vec<Seq>, StoreError> {
    let Event::DiscoverySubmitted(submitted) = event else {
        return Ok(Vec::new());
    };
    read.rows(
        "select seq from discovery_vector where discovery_id = ?1 order by seq",
        params![submitted.id],
        Row::take,
    )
}

/// Returns what is left of the events that were redacted in a part of the log.
pub(crate) fn remnants_within(
    read: &mut impl Read,
    first: Seq,
    last: Seq,
) -> Result<BTreeMap<Seq, String>, StoreError> {
    let rows = read.rows(
        "select id, remnant from redaction where id >= ?1 and id <= ?2",
        params![first, last],
        |row| Ok((row.take()?, row.take()?)),
    )?;
    Ok(rows.into_iter().collect())
}

/// Asks how many of an archive's events were redacted since it was made.
#[derive(Clone, Debug)]
pub struct RedactionsSince {
    /// The archive.
    pub archive: crate::archive::ArchiveId,
    /// Up to where it goes.
    pub through: Seq,
}

impl Query for RedactionsSince {
    const NAME: &'static str = "redactions_since";
    const WHO: &'static [Party] = &[];
    type Answer = i64;

    fn run(&self, _: &Actor, snapshot: &mut Snapshot<'_>) -> Result<i64, Error> {
        Ok(snapshot.one(
            "select count(*) from redaction where id <= ?2 and redacted_seq > coalesce(
                (select clean_to from archive where id = ?1), 0)",
            params![&*self.archive, self.through],
            Row::take,
        )?)
    }
}
