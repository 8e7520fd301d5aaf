//! Requests to release a lease: reading rows.

use comity_domain::{AgentId, MessageId, ProjectId, ReleaseRequestId, ReservationId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::epoch::next_id;
use crate::params;
use crate::store::{Row, StoreError};
use crate::tx::Read;

/// What a holder does about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It releases the lease.
    Release,
    /// It keeps the lease for now.
    Defer,
}

impl Verdict {
    /// Returns the word in the database and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Defer => "defer",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        match word {
            "release" => Some(Self::Release),
            "defer" => Some(Self::Defer),
            _ => None,
        }
    }
}

/// A request to release a lease, as both sides see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReleaseRequest {
    /// Its number.
    pub id: ReleaseRequestId,
    /// The lease.
    pub reservation_id: ReservationId,
    /// What the lease covers.
    pub path_pattern: String,
    /// Who holds it.
    pub held_by: String,
    /// Who asks.
    pub requested_by: String,
    /// Who asks, by number.
    pub requester_id: AgentId,
    /// The thread in which the two talk about it.
    pub thread_id: MessageId,
    /// Why.
    pub reason: String,
    /// What the holder answered; null as long as it has not.
    pub answer: Option<Verdict>,
    /// When the holder expects to be done, from its answer on.
    pub eta_ms: Option<i64>,
    /// When it was asked.
    pub created_at: Timestamp,
    /// When it was answered.
    pub answered_at: Option<Timestamp>,
    /// How many events it has.
    pub revision: i64,
}

macro_rules! request_from {
    ($rest:literal) => {
        concat!(
            "select q.id, q.reservation_id, r.pattern, coalesce(h.name, 'operator'), a.name,
                q.requester_id, q.thread_id, q.reason, q.answer, q.eta_ms, q.created_at,
                q.answered_at, q.revision, q.project_id
             from release_request q join reservation r on r.id = q.reservation_id
             join agent a on a.id = q.requester_id left join agent h on h.id = r.agent_id ",
            $rest
        )
    };
}

/// Returns a request by number, with its project.
pub(super) fn by_id(
    read: &mut impl Read,
    id: ReleaseRequestId,
) -> Result<Option<(ReleaseRequest, ProjectId)>, StoreError> {
    read.row(request_from!("where q.id = ?1"), params![id], request)
}

/// Returns the request of somebody for a lease that waits for an answer.
pub(super) fn open(
    read: &mut impl Read,
    lease: ReservationId,
    requester: AgentId,
) -> Result<Option<ReleaseRequest>, StoreError> {
    let found = read.row(
        request_from!(
            "where q.reservation_id = ?1 and q.requester_id = ?2 and q.answer is null
             order by q.id limit 1"
        ),
        params![lease, requester],
        request,
    )?;
    Ok(found.map(|(request, _)| request))
}

/// Returns the number for the next request.
pub(super) fn next_id(read: &mut impl Read) -> Result<ReleaseRequestId, StoreError> {
    read.one(next_id!("release_request"), &[], Row::take)
}

fn request(row: &mut Row) -> Result<(ReleaseRequest, ProjectId), StoreError> {
    let request = ReleaseRequest {
        id: row.take()?,
        reservation_id: row.take()?,
        path_pattern: row.take()?,
        held_by: row.take()?,
        requested_by: row.take()?,
        requester_id: row.take()?,
        thread_id: row.take()?,
        reason: row.take()?,
        answer: verdict(row)?,
        eta_ms: row.take()?,
        created_at: row.take()?,
        answered_at: row.take()?,
        revision: row.take()?,
    };
    Ok((request, row.take()?))
}

fn verdict(row: &mut Row) -> Result<Option<Verdict>, StoreError> {
    let Some(word) = row.take::<Option<String>>()? else {
        return Ok(None);
    };
    let verdict = Verdict::from_word(&word).ok_or(StoreError::Shape("a known word"))?;
    Ok(Some(verdict))
}
