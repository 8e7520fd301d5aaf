//! Mail that an operation sends on behalf of whoever calls it.

use comity_domain::limits::{BODY_BYTES_MAX, SUBJECT_BYTES_MAX};
use comity_domain::text::is_deceptive;
use comity_domain::{Address, AgentId, Importance, MessageId, ProjectId};

use super::deliver::{Letter, Reach, deliver};
use super::{Body, Subject, table};
use crate::agent::table as agent_table;
use crate::command::Stop;
use crate::error::Error;
use crate::tx::WriteTx;

/// What is to be said, and to whom.
pub(crate) struct Notice {
    pub(crate) project: ProjectId,
    pub(crate) to: AgentId,
    pub(crate) subject: String,
    pub(crate) body: String,
    /// A message of the thread it continues.
    pub(crate) answers: Option<MessageId>,
}

/// Sends it, whatever the recipient's contact policy: it concerns what the recipient holds or
/// asked for. Who is retired meanwhile needs no word any more.
pub(crate) fn send(tx: &mut WriteTx<'_, '_>, notice: Notice) -> Result<Option<MessageId>, Stop> {
    let recipient = agent_table::by_id(tx, notice.to)?;
    if recipient.is_none_or(|agent| agent.retired_at.is_some()) {
        return Ok(None);
    }
    let answers = match notice.answers {
        Some(id) => table::by_id(tx, id)?,
        None => None,
    };
    let sent = deliver(
        tx,
        Letter {
            project: notice.project,
            to: vec![Address::Id(notice.to)],
            cc: Vec::new(),
            bcc: Vec::new(),
            subject: Subject::parse(cut(plain(&notice.subject), SUBJECT_BYTES_MAX))
                .map_err(|rule| Error::invalid("subject", rule))?,
            body: Body::parse(cut(notice.body, BODY_BYTES_MAX))
                .map_err(|rule| Error::invalid("body", rule))?,
            importance: Importance::High,
            ack_required: false,
            answers,
            topic: None,
            attachments: Vec::new(),
            words: None,
            reach: Reach::Always,
        },
    )?;
    Ok(Some(sent.message.id))
}

/// Leaves out what a line may not hold: a file's name may be anything.
fn plain(text: &str) -> String {
    let is_plain = |c: &char| !c.is_control() && !is_deceptive(*c);
    text.chars().filter(is_plain).collect()
}

/// Cuts between characters.
fn cut(mut text: String, bytes_max: usize) -> String {
    while text.len() > bytes_max {
        text.pop();
    }
    text
}
