//! Streams: reading rows.

use comity_domain::{ProjectId, Seq, StreamId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::event::CustomAppended;
use crate::epoch::next_id;
use crate::params;
use crate::store::{Row, StoreError};
use crate::tx::Read;

/// A stream as callers see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stream {
    /// Its number.
    pub id: StreamId,
    /// Its project's number.
    pub project_id: ProjectId,
    /// Its name.
    pub name: String,
    /// The number of its last event.
    pub version: i64,
    /// When its first event was appended.
    pub created_at: Timestamp,
    /// How many events it has.
    pub revision: i64,
}

/// An event of a stream.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StreamEvent {
    /// Its number within the stream.
    pub version: i64,
    /// Its place in the log.
    pub seq: Seq,
    /// When it was appended.
    pub at: Timestamp,
    /// Its kind.
    pub kind: String,
    /// Who appended it, as the log names them.
    pub actor: String,
    /// The caller's own id.
    pub correlation: Option<String>,
    /// What it says; null once redacted.
    pub payload: Option<Map<String, Value>>,
}

/// Returns a stream by its name.
pub(super) fn by_name(
    read: &mut impl Read,
    project: ProjectId,
    name: &str,
) -> Result<Option<Stream>, StoreError> {
    read.row(
        "select id, project_id, name, version, created_at, revision
         from stream where project_id = ?1 and name = ?2",
        params![project, name],
        |row| {
            Ok(Stream {
                id: row.take()?,
                project_id: row.take()?,
                name: row.take()?,
                version: row.take()?,
                created_at: row.take()?,
                revision: row.take()?,
            })
        },
    )
}

/// Returns the first names of a project's streams, to guess which one was meant.
pub(super) fn names(read: &mut impl Read, project: ProjectId) -> Result<Vec<String>, StoreError> {
    read.rows(
        "select name from stream where project_id = ?1 order by name limit 500",
        params![project],
        Row::take,
    )
}

/// Counts the streams of a project.
pub(super) fn count(read: &mut impl Read, project: ProjectId) -> Result<i64, StoreError> {
    read.one(
        "select count(*) from stream where project_id = ?1",
        params![project],
        Row::take,
    )
}

/// Returns where the event of a stream is that comes next after a version.
pub(super) fn next_seq(
    read: &mut impl Read,
    stream: StreamId,
    after: i64,
) -> Result<Option<Seq>, StoreError> {
    read.row(
        "select seq from stream_event where stream_id = ?1 and version > ?2
         order by version limit 1",
        params![stream, after],
        Row::take,
    )
}

/// Returns the events of a stream behind a version, in order.
pub(super) fn events(
    read: &mut impl Read,
    stream: StreamId,
    after: i64,
    limit: i64,
) -> Result<Vec<StreamEvent>, StoreError> {
    read.rows(
        "select s.version, s.seq, e.at, e.kind, e.actor, e.correlation,
            case when r.id is null then e.payload end
         from stream_event s join event e on e.seq = s.seq left join redaction r on r.id = s.seq
         where s.stream_id = ?1 and s.version > ?2 order by s.version
         limit cast(?3 as bigint)",
        params![stream, after, limit],
        |row| {
            let mut event = StreamEvent {
                version: row.take()?,
                seq: row.take()?,
                at: row.take()?,
                kind: row.take()?,
                actor: row.take()?,
                correlation: row.take()?,
                payload: None,
            };
            let payload: Option<String> = row.take()?;
            let said = payload.map(|payload| CustomAppended::read(&event.kind, &payload));
            event.payload = match said.transpose() {
                Ok(said) => said.map(|said| said.data),
                Err(_) => return Err(StoreError::Shape("an event of a stream")),
            };
            Ok(event)
        },
    )
}

/// Returns the number for the next stream.
pub(super) fn next_id(read: &mut impl Read) -> Result<StreamId, StoreError> {
    read.one(next_id!("stream"), &[], Row::take)
}
