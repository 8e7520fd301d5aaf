//! Contacts: reading rows.

use comity_domain::{AgentId, ContactId, LeaseTime, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::epoch::next_id;
use crate::params;
use crate::store::{Row, StoreError};
use crate::tx::Read;

/// A contact as both sides see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Contact {
    /// Its number.
    pub id: ContactId,
    /// Who is asked.
    pub agent: String,
    /// Who is asked, by number.
    pub agent_id: AgentId,
    /// Who asks to write.
    pub sender: String,
    /// Who asks to write, by number.
    pub sender_id: AgentId,
    /// `requested`, `approved`, `refused`, or `expired` when an approval has ended.
    pub state: String,
    /// Why it was asked.
    pub reason: String,
    /// When it was first asked.
    pub created_at: Timestamp,
    /// Until when it is approved.
    pub until: Option<Timestamp>,
    /// How many events it has.
    pub revision: i64,
}

/// Returns the contact with this number.
pub(super) fn by_id(read: &mut impl Read, id: ContactId) -> Result<Option<Contact>, StoreError> {
    let now = read.now().lease;
    read.row(
        "select c.id, a.name, c.agent_id, s.name, c.sender_id, c.state, c.reason, c.created_at,
            c.until_at, c.until_lease_us, c.revision
         from contact c join agent a on a.id = c.agent_id join agent s on s.id = c.sender_id
         where c.id = ?1",
        params![id],
        |row| contact(row, now),
    )
}

/// Returns the contact between two agents.
pub(super) fn between(
    read: &mut impl Read,
    agent: AgentId,
    sender: AgentId,
) -> Result<Option<ContactId>, StoreError> {
    read.row(
        "select id from contact where agent_id = ?1 and sender_id = ?2",
        params![agent, sender],
        Row::take,
    )
}

/// Tells whether somebody approved a sender, and the approval has not ended.
pub(crate) fn is_approved(
    read: &mut impl Read,
    agent: AgentId,
    sender: AgentId,
) -> Result<bool, StoreError> {
    let now = read.now().lease;
    read.one(
        "select count(*) from contact
         where agent_id = ?1 and sender_id = ?2 and state = 'approved'
         and (until_lease_us is null or until_lease_us > ?3)",
        params![agent, sender, now],
        |row| Ok(row.take::<i64>()? > 0),
    )
}

/// Returns the number for the next contact.
pub(super) fn next_id(read: &mut impl Read) -> Result<ContactId, StoreError> {
    read.one(next_id!("contact"), &[], Row::take)
}

/// Returns a page of contacts: all of an agent, or all there are.
pub(super) fn page(
    read: &mut impl Read,
    of: Option<AgentId>,
    after: i64,
    limit: i64,
) -> Result<Vec<Contact>, StoreError> {
    let now = read.now().lease;
    read.rows(
        "select c.id, a.name, c.agent_id, s.name, c.sender_id, c.state, c.reason, c.created_at,
            c.until_at, c.until_lease_us, c.revision
         from contact c join agent a on a.id = c.agent_id join agent s on s.id = c.sender_id
         where c.id > ?2 and (cast(?1 as bigint) is null or c.agent_id = ?1 or c.sender_id = ?1)
         order by c.id limit cast(?3 as bigint)",
        params![of, after, limit],
        |row| contact(row, now),
    )
}

fn contact(row: &mut Row, now: LeaseTime) -> Result<Contact, StoreError> {
    let (id, agent, agent_id) = (row.take()?, row.take()?, row.take()?);
    let (sender, sender_id) = (row.take()?, row.take()?);
    let (state, reason): (String, String) = (row.take()?, row.take()?);
    let (created_at, until) = (row.take()?, row.take()?);
    let until_lease: Option<LeaseTime> = row.take()?;
    let ended = until_lease.is_some_and(|until| until <= now);
    Ok(Contact {
        id,
        agent,
        agent_id,
        sender,
        sender_id,
        state: if ended { "expired".to_owned() } else { state },
        reason,
        created_at,
        until,
        revision: row.take()?,
    })
}
