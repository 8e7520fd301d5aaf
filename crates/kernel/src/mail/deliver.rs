//! The one way a message comes into being: stored, delivered and noted in one transaction (C1).

use comity_domain::limits::{ATTACHMENTS_MAX, LABEL_BYTES_MAX, RECIPIENTS_MAX};
use comity_domain::{Address, Delivery, Importance, Line, MessageId, ProjectId, Sha256Hex};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::address;
use super::event::{Attached, MessageSent, Recipient};
use super::table::{self, Detail, Message, box_of, own_box};
use super::{Body, Subject, Topic};
use crate::command::Stop;
use crate::error::{Error, Impossible};
use crate::params;
use crate::store::Row;
use crate::store::search::Cut;
use crate::tx::{Read, WriteTx};

/// Everything a message is made from.
pub(super) struct Letter {
    pub(super) project: ProjectId,
    pub(super) to: Vec<Address>,
    pub(super) cc: Vec<Address>,
    pub(super) bcc: Vec<Address>,
    pub(super) subject: Subject,
    pub(super) body: Body,
    pub(super) importance: Importance,
    pub(super) ack_required: bool,
    /// The message it answers, which its sender may see.
    pub(super) answers: Option<Message>,
    pub(super) topic: Option<Topic>,
    pub(super) attachments: Vec<AttachmentRef>,
    /// Its words, where they were cut before the transaction.
    pub(super) words: Option<Cut>,
    /// Whom it reaches.
    pub(super) reach: Reach,
}

/// Whom a letter reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Those whose contact policy admits the sender.
    ByPolicy,
    /// Everybody it is for: it concerns what they hold or asked for.
    Always,
}

/// Something to attach, by the hash that `put_attachment` answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AttachmentRef {
    /// The SHA-256 of its bytes.
    pub sha256: Sha256Hex,
    /// What to call it.
    pub name: Line<LABEL_BYTES_MAX>,
}

/// The message, and who did not get it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SentMessage {
    /// The message without its body.
    pub message: Message,
    /// Those whose contact policy refused it, and why.
    pub skipped: Vec<Skipped>,
}

/// One who did not get a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Skipped {
    /// As the sender wrote it.
    pub recipient: String,
    /// `closed` or `not_a_contact`.
    pub reason: String,
}

/// Sends a letter as whoever acts.
pub(super) fn deliver(tx: &mut WriteTx<'_, '_>, letter: Letter) -> Result<SentMessage, Stop> {
    let named = letter.to.len() + letter.cc.len() + letter.bcc.len();
    if named > RECIPIENTS_MAX {
        let rule = format!("must be at most {RECIPIENTS_MAX} recipients in all, not {named}");
        return Err(Error::invalid("to", rule).into());
    }
    let sender = own_box(tx.actor());
    let thread = letter.answers.as_ref().map(|message| message.thread_id);
    let addresses = all(Delivery::To, letter.to)
        .chain(all(Delivery::Cc, letter.cc))
        .chain(all(Delivery::Bcc, letter.bcc));
    let found = address::resolve(tx, letter.project, sender, addresses)?;
    let (admitted, skipped) = match letter.reach {
        Reach::ByPolicy => address::admit(tx, sender, thread, found)?,
        Reach::Always => (found, Vec::new()),
    };
    if admitted.is_empty() {
        return Err(nobody(skipped).into());
    }
    let attachments = attached(tx, &letter.attachments)?;
    let id = table::next_id(tx)?;
    tx.use_words(letter.words);
    tx.emit(MessageSent {
        id,
        project: letter.project,
        thread: thread.unwrap_or(id),
        reply_to: letter.answers.map(|message| message.id),
        from: sender,
        recipients: admitted
            .iter()
            .map(|one| Recipient {
                agent: one.owner,
                delivery: one.delivery,
            })
            .collect(),
        subject: letter.subject.into_string(),
        body: letter.body.into_string(),
        importance: letter.importance,
        ack_required: letter.ack_required,
        topic: letter.topic.map(Line::into_string),
        attachments,
    })?;
    let message = sent(tx, id)?;
    Ok(SentMessage { message, skipped })
}

fn all(delivery: Delivery, list: Vec<Address>) -> impl Iterator<Item = (Delivery, Address)> {
    list.into_iter().map(move |address| (delivery, address))
}

/// Says why a letter reached nobody.
fn nobody(skipped: Vec<Skipped>) -> Error {
    if skipped.is_empty() {
        return Error::invalid("to", "reaches nobody: name a recipient who is there");
    }
    Error::DeliveryRefused {
        skipped: skipped
            .into_iter()
            .map(|one| (one.recipient, one.reason))
            .collect(),
    }
}

/// Reads the message back as its sender sees it, without its body.
fn sent(tx: &mut WriteTx<'_, '_>, id: MessageId) -> Result<Message, Error> {
    let actor = tx.actor().clone();
    let mut message = table::by_id(tx, id)?
        .ok_or_else(|| Error::internal(Impossible("a message vanished as it was sent")))?;
    let marks = table::marks(tx, &message)?;
    table::address(&mut message, &marks, &actor);
    Ok(table::shown(tx, &actor, message, Detail::None)?)
}

/// Finds what is attached: bytes the sender put in, or got with a message. Knowing a hash is not
/// enough.
fn attached(tx: &mut WriteTx<'_, '_>, wanted: &[AttachmentRef]) -> Result<Vec<Attached>, Error> {
    if wanted.len() > ATTACHMENTS_MAX {
        let rule = format!("must be at most {ATTACHMENTS_MAX}");
        return Err(Error::invalid("attachments", rule));
    }
    let (own, owner) = (box_of(own_box(tx.actor())), tx.actor().to_string());
    let mut attached = Vec::new();
    for one in wanted {
        let bytes = tx.row(
            "select length(b.bytes) from blob b where b.sha256 = ?1 and (cast(?2 as bigint) = 0
                 or exists (select 1 from blob_owner o where o.owner = ?3 and o.sha256 = b.sha256)
                 or exists (select 1 from message_attachment t join message m on m.id = t.message_id
                     where t.sha256 = b.sha256 and (m.sender_id = ?2 or exists (
                         select 1 from recipient r where r.message_id = m.id and r.agent_id = ?2))))",
            params![one.sha256.bytes(), own, &owner],
            Row::take::<i64>,
        )?;
        let bytes = bytes.ok_or_else(|| Error::not_found("attachment", &one.sha256))?;
        attached.push(Attached {
            sha256: one.sha256,
            name: one.name.to_string(),
            bytes,
        });
    }
    Ok(attached)
}
