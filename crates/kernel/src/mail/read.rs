//! Marks messages as read.

use comity_domain::MessageId;
use comity_domain::limits::MARKS_MAX;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::MessageRead;
use super::table::{Owner, box_of, own_box};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::error::Error;
use crate::params;
use crate::tx::{Read, WriteTx};
use comity_domain::{AgentId, ProjectId, Timestamp};

/// Marks messages as read; the first time counts.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadMessages {
    /// The messages' numbers.
    pub ids: Vec<MessageId>,
}

/// What is marked now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MarkedMessages {
    /// The messages, in the order of the request.
    pub messages: Vec<MarkedMessage>,
}

/// One message and your marks on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MarkedMessage {
    /// The message.
    pub id: MessageId,
    /// When you read it.
    pub read_at: Option<Timestamp>,
    /// When you acknowledged it.
    pub acked_at: Option<Timestamp>,
}

impl Command for ReadMessages {
    const NAME: &'static str = "read_messages";
    const WHO: &'static [Party] = &[Party::Itself, Party::Operator];
    type Answer = MarkedMessages;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<MarkedMessages, Stop> {
        let own = own_box(tx.actor());
        for got in received(tx, own, &self.ids)? {
            if got.read_at.is_none() {
                tx.emit(MessageRead {
                    id: got.id,
                    project: got.project,
                    from: got.from,
                    by: own,
                })?;
            }
        }
        Ok(marked(tx, own, &self.ids)?)
    }
}

/// A message that somebody got.
pub(super) struct Received {
    pub(super) id: MessageId,
    pub(super) project: ProjectId,
    pub(super) from: Option<AgentId>,
    pub(super) read_at: Option<Timestamp>,
    pub(super) acked_at: Option<Timestamp>,
}

/// Finds messages in somebody's box, each once; one that is not there is not found.
pub(super) fn received(
    read: &mut impl Read,
    own: Owner,
    ids: &[MessageId],
) -> Result<Vec<Received>, Error> {
    if ids.is_empty() {
        return Err(Error::invalid("ids", "must name a message"));
    }
    if ids.len() > MARKS_MAX {
        let rule = format!("must be at most {MARKS_MAX}");
        return Err(Error::invalid("ids", rule));
    }
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    ids.dedup();
    ids.into_iter()
        .map(|id| one(read, own, id)?.ok_or_else(|| Error::not_found("message", &id)))
        .collect()
}

fn one(
    read: &mut impl Read,
    own: Owner,
    id: MessageId,
) -> Result<Option<Received>, crate::store::StoreError> {
    read.row(
        "select m.id, m.project_id, m.sender_id, r.read_at, r.acked_at
         from recipient r join message m on m.id = r.message_id
         where r.message_id = ?1 and r.agent_id = ?2",
        params![id, box_of(own)],
        |row| {
            Ok(Received {
                id: row.take()?,
                project: row.take()?,
                from: row.take()?,
                read_at: row.take()?,
                acked_at: row.take()?,
            })
        },
    )
}

/// Returns the marks as they are now.
pub(super) fn marked(
    read: &mut impl Read,
    own: Owner,
    ids: &[MessageId],
) -> Result<MarkedMessages, Error> {
    let mut messages = Vec::new();
    for id in ids {
        if let Some(got) = one(read, own, *id)? {
            messages.push(MarkedMessage {
                id: got.id,
                read_at: got.read_at,
                acked_at: got.acked_at,
            });
        }
    }
    Ok(MarkedMessages { messages })
}
