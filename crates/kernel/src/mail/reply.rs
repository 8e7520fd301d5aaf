//! Answers a message.

use comity_domain::limits::SUBJECT_BYTES_MAX;
use comity_domain::{Address, Importance, MessageId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::deliver::{AttachmentRef, Letter, Reach, SentMessage, deliver};
use super::table::{self, Message, own_box};
use super::{Body, Subject};
use crate::actor::{Actor, Party};
use crate::agent::table as agent_table;
use crate::command::{Command, Stop};
use crate::error::Error;
use crate::tx::{Read, WriteTx};

/// Answers a message: to its sender, or to those it was for where you sent it yourself.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reply {
    /// The message to answer.
    pub id: MessageId,
    /// Markdown.
    pub body: Body,
    /// One line; `Re:` and the subject of the message unless given.
    #[serde(default)]
    pub subject: Option<Subject>,
    /// Others who get it for their information.
    #[serde(default)]
    pub cc: Vec<Address>,
    /// How much it matters; as the message unless given.
    #[serde(default)]
    pub importance: Option<Importance>,
    /// Whether an acknowledgement is asked for.
    #[serde(default)]
    pub ack_required: bool,
    /// What it carries.
    #[serde(default)]
    pub attachments: Vec<AttachmentRef>,
}

impl Command for Reply {
    const NAME: &'static str = "reply";
    const WHO: &'static [Party] = &[Party::Itself, Party::Operator];
    type Answer = SentMessage;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<SentMessage, Stop> {
        let actor = tx.actor().clone();
        let message = table::visible(tx, &actor, self.id)?
            .ok_or_else(|| Error::not_found("message", &self.id))?;
        let to = answered(tx, &actor, &message)?;
        let subject = match &self.subject {
            Some(subject) => subject.clone(),
            None => prefixed("Re: ", &message.subject)?,
        };
        deliver(
            tx,
            Letter {
                project: actor.project().unwrap_or(table::project_of(&message)),
                to,
                cc: self.cc.clone(),
                bcc: Vec::new(),
                subject,
                body: self.body.clone(),
                importance: self.importance.unwrap_or(message.importance),
                ack_required: self.ack_required,
                topic: message
                    .topic
                    .as_deref()
                    .and_then(|topic| super::Topic::parse(topic).ok()),
                answers: Some(message),
                attachments: self.attachments.clone(),
                words: None,
                reach: Reach::ByPolicy,
            },
        )
    }
}

/// Returns whom an answer goes to.
pub(super) fn answered(
    read: &mut impl Read,
    actor: &Actor,
    message: &Message,
) -> Result<Vec<Address>, Error> {
    if message.from_id != own_box(actor) {
        return Ok(vec![address(read, message.from_id)?]);
    }
    let marks = table::marks(read, message)?;
    let others = marks
        .iter()
        .filter(|mark| mark.delivery == comity_domain::Delivery::To);
    others.map(|mark| address(read, mark.owner)).collect()
}

/// Writes an agent's address so that it is found from any project.
fn address(read: &mut impl Read, owner: table::Owner) -> Result<Address, Error> {
    let Some(id) = owner else {
        return Ok(Address::Operator);
    };
    let agent = agent_table::by_id(read, id)?.ok_or_else(|| Error::not_found("agent", &id))?;
    Address::parse(&format!("{}@{}", agent.name, agent.project))
        .map_err(|rule| Error::invalid("to", rule))
}

/// Puts a word before a subject unless it is there, and cuts what is too long between characters.
pub(super) fn prefixed(word: &str, subject: &str) -> Result<Subject, Error> {
    let mut text = match subject.get(..word.len()) {
        Some(start) if start.eq_ignore_ascii_case(word) => subject.to_owned(),
        _ => format!("{word}{subject}"),
    };
    while text.len() > SUBJECT_BYTES_MAX {
        text.pop();
    }
    Subject::parse(text).map_err(|rule| Error::invalid("subject", rule))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_gets_its_word_once_and_is_cut_between_characters() {
        assert_eq!(&*prefixed("Re: ", "tests").unwrap(), "Re: tests");
        assert_eq!(&*prefixed("Re: ", "RE: tests").unwrap(), "RE: tests");
        for length in 500..=512 {
            let mut subject = "x".repeat(length % 4);
            while subject.len() + 4 <= length {
                subject.push('🦦');
            }
            let cut = prefixed("Re: ", &subject).unwrap();
            assert!(cut.len() <= SUBJECT_BYTES_MAX && cut.starts_with("Re: "));
        }
    }
}
