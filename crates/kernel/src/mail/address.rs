//! Finds whom a letter is for, and who may not get it.

use std::collections::HashSet;

use comity_domain::limits::{BROADCAST_MAX, BROADCAST_SEEN_US};
use comity_domain::suggest::nearest;
use comity_domain::{
    Address, AgentId, AgentName, ContactPolicy, Delivery, MessageId, ProjectId, Timestamp,
};

use super::deliver::Skipped;
use super::table::Owner;
use crate::contact::table as contact_table;
use crate::error::Error;
use crate::params;
use crate::project::table as project_table;
use crate::store::{Row, StoreError};
use crate::tx::Read;

/// Somebody a letter is for.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// The agent; nobody is the operator.
    pub(super) owner: Owner,
    /// How the letter names it.
    pub(super) delivery: Delivery,
    /// As the sender wrote it, or its name where the sender wrote `*`.
    name: String,
    policy: ContactPolicy,
}

/// An agent as far as delivery cares.
struct Correspondent {
    id: AgentId,
    name: String,
    policy: ContactPolicy,
    retired: bool,
}

/// Finds everybody that the addresses mean, each once, in the role that is named first.
pub(super) fn resolve(
    read: &mut impl Read,
    project: ProjectId,
    sender: Owner,
    addresses: impl Iterator<Item = (Delivery, Address)>,
) -> Result<Vec<Found>, Error> {
    let (mut asked, mut owners) = (HashSet::new(), HashSet::new());
    let mut found: Vec<Found> = Vec::new();
    for (delivery, address) in addresses {
        // A hundred times `*` is one broadcast.
        if !asked.insert(address.to_string()) {
            continue;
        }
        let meant = meant(read, project, sender, delivery, &address)?;
        found.extend(meant.into_iter().filter(|one| owners.insert(one.owner)));
    }
    Ok(found)
}

fn meant(
    read: &mut impl Read,
    project: ProjectId,
    sender: Owner,
    delivery: Delivery,
    address: &Address,
) -> Result<Vec<Found>, Error> {
    let name = address.to_string();
    let one = |agent: Correspondent| Found {
        owner: Some(agent.id),
        delivery,
        name: name.clone(),
        policy: agent.policy,
    };
    let agent = match address {
        Address::Everybody => return everybody(read, project, sender, delivery),
        Address::Operator => {
            return Ok(vec![Found {
                owner: None,
                delivery,
                name,
                policy: ContactPolicy::Open,
            }]);
        }
        Address::Id(id) => by_id(read, project, *id)?,
        Address::Name(name) => by_name(read, project, name)?,
        Address::Elsewhere(name, elsewhere) => {
            match project_table::by_key_or_slug(read, elsewhere)? {
                Some(elsewhere) => by_name(read, elsewhere.id, name)?,
                None => None,
            }
        }
    };
    match agent {
        Some(agent) if agent.retired => Err(Error::AgentRetired { name: agent.name }),
        Some(agent) => Ok(vec![one(agent)]),
        None => Err(unknown(read, project, address)?),
    }
}

/// Finds the one agent that an address means.
pub(crate) fn find_agent(
    read: &mut impl Read,
    project: ProjectId,
    address: &Address,
) -> Result<AgentId, Error> {
    let found = match address {
        Address::Everybody | Address::Operator => Vec::new(),
        address => meant(read, project, None, Delivery::To, address)?,
    };
    found
        .first()
        .and_then(|one| one.owner)
        .ok_or_else(|| Error::invalid("agent", "must be an agent"))
}

/// Says whom nobody knows, and who may have been meant; of other projects nothing is told (S20).
fn unknown(read: &mut impl Read, project: ProjectId, address: &Address) -> Result<Error, Error> {
    let near = match address {
        Address::Name(name) => {
            let names = read.rows(
                "select name from agent where project_id = ?1 and retired_at is null
                 order by id desc limit 500",
                params![project],
                Row::take::<String>,
            )?;
            nearest(name, names.iter().map(String::as_str)).map(ToOwned::to_owned)
        }
        _ => None,
    };
    Ok(Error::UnknownRecipient {
        name: address.to_string(),
        near,
    })
}

/// Finds the agents that were heard of lately.
fn everybody(
    read: &mut impl Read,
    project: ProjectId,
    sender: Owner,
    delivery: Delivery,
) -> Result<Vec<Found>, Error> {
    let since = Timestamp::from_micros(read.now().at.micros() - BROADCAST_SEEN_US);
    let agents = read.rows(
        "select a.id, a.name, a.contact_policy, a.created_at, s.seen_at
         from agent a left join presence s on s.agent_id = a.id
         where a.project_id = ?1 and a.retired_at is null order by a.id",
        params![project],
        |row| {
            let (id, name): (AgentId, String) = (row.take()?, row.take()?);
            let policy = row.word(ContactPolicy::from_word)?;
            let created_at: Timestamp = row.take()?;
            let seen_at: Option<Timestamp> = row.take()?;
            Ok((id, name, policy, seen_at.unwrap_or(created_at)))
        },
    )?;
    let started = read.presence().started();
    let heard = |id: AgentId, flushed: Timestamp| {
        let lately = read.presence().of(id).map_or(flushed, |seen| seen.at);
        // Before this process listened nobody could be heard of: unknown counts as then.
        lately.max(flushed).max(started) >= since
    };
    let found: Vec<_> = agents
        .into_iter()
        .filter(|(id, _, _, flushed)| Some(*id) != sender && heard(*id, *flushed))
        .map(|(id, name, policy, _)| Found {
            owner: Some(id),
            delivery,
            name,
            policy,
        })
        .collect();
    if found.len() > BROADCAST_MAX {
        return Err(Error::LimitExceeded {
            what: "the number of recipients of a broadcast",
            limit: BROADCAST_MAX as u64,
        });
    }
    Ok(found)
}

/// Parts those who get the letter from those whose policy refuses it.
pub(super) fn admit(
    read: &mut impl Read,
    sender: Owner,
    thread: Option<MessageId>,
    found: Vec<Found>,
) -> Result<(Vec<Found>, Vec<Skipped>), Error> {
    let (mut admitted, mut skipped) = (Vec::new(), Vec::new());
    for one in found {
        match refusal(read, sender, thread, &one)? {
            None => admitted.push(one),
            Some(reason) => skipped.push(Skipped {
                recipient: one.name,
                reason: reason.to_owned(),
            }),
        }
    }
    Ok((admitted, skipped))
}

fn refusal(
    read: &mut impl Read,
    sender: Owner,
    thread: Option<MessageId>,
    one: &Found,
) -> Result<Option<&'static str>, StoreError> {
    let (Some(writer), Some(reader)) = (sender, one.owner) else {
        // Operators write to everybody, and everybody to them.
        return Ok(None);
    };
    if writer == reader {
        return Ok(None);
    }
    Ok(match one.policy {
        ContactPolicy::Open => None,
        ContactPolicy::Closed => Some("closed"),
        ContactPolicy::Contacts => {
            let known = contact_table::is_approved(read, reader, writer)?
                || is_in_thread(read, thread, reader)?;
            (!known).then_some("not_a_contact")
        }
    })
}

/// Tells whether somebody takes part in the thread that a letter continues.
fn is_in_thread(
    read: &mut impl Read,
    thread: Option<MessageId>,
    reader: AgentId,
) -> Result<bool, StoreError> {
    let Some(thread) = thread else {
        return Ok(false);
    };
    // A bcc is nobody's business: having got one is no part that others may rely on.
    read.one(
        "select count(*) from message m where m.thread_id = ?2 and (m.sender_id = ?1 or exists (
             select 1 from recipient r
             where r.message_id = m.id and r.agent_id = ?1 and r.delivery <> 'bcc'))",
        params![reader, thread],
        |row| Ok(row.take::<i64>()? > 0),
    )
}

fn by_name(
    read: &mut impl Read,
    project: ProjectId,
    name: &AgentName,
) -> Result<Option<Correspondent>, StoreError> {
    read.row(
        "select id, name, contact_policy, retired_at from agent
         where project_id = ?1 and name_folded = ?2",
        params![project, &name.folded()],
        correspondent,
    )
}

fn by_id(
    read: &mut impl Read,
    project: ProjectId,
    id: AgentId,
) -> Result<Option<Correspondent>, StoreError> {
    read.row(
        "select id, name, contact_policy, retired_at from agent where project_id = ?1 and id = ?2",
        params![project, id],
        correspondent,
    )
}

fn correspondent(row: &mut Row) -> Result<Correspondent, StoreError> {
    Ok(Correspondent {
        id: row.take()?,
        name: row.take()?,
        policy: row.word(ContactPolicy::from_word)?,
        retired: row.take::<Option<i64>>()?.is_some(),
    })
}
