//! Passes a message on.

use comity_domain::limits::BODY_BYTES_MAX;
use comity_domain::{Address, Importance, MessageId, Prose};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Body;
use super::deliver::{AttachmentRef, Letter, Reach, SentMessage, deliver};
use super::reply::prefixed;
use super::table;
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::error::Error;
use crate::tx::WriteTx;

/// Passes a message on to others, with what it carries and a word of your own.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Forward {
    /// The message to pass on.
    pub id: MessageId,
    /// Those it is meant for.
    pub to: Vec<Address>,
    /// Those who get it for their information.
    #[serde(default)]
    pub cc: Vec<Address>,
    /// What you say with it.
    #[serde(default)]
    pub note: Option<Prose<BODY_BYTES_MAX>>,
    /// How much it matters; as the message unless given.
    #[serde(default)]
    pub importance: Option<Importance>,
    /// Whether an acknowledgement is asked for.
    #[serde(default)]
    pub ack_required: bool,
}

impl Command for Forward {
    const NAME: &'static str = "forward";
    const WHO: &'static [Party] = &[Party::Itself, Party::Operator];
    type Answer = SentMessage;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<SentMessage, Stop> {
        let actor = tx.actor().clone();
        let message = table::visible(tx, &actor, self.id)?
            .ok_or_else(|| Error::not_found("message", &self.id))?;
        let carried = table::attachments(tx, message.id)?;
        let note = self.note.as_deref().unwrap_or_default();
        let quoted = format!(
            "{note}{}Forwarded message {} from {}, {}:\n\n{}",
            if note.is_empty() { "" } else { "\n\n" },
            message.id,
            message.from,
            message.created_at,
            message.body.as_deref().unwrap_or_default()
        );
        let body = Body::parse(quoted).map_err(|rule| Error::invalid("note", rule))?;
        let attachments = carried
            .into_iter()
            .filter_map(|one| {
                let name = comity_domain::Line::parse(one.name).ok()?;
                Some(AttachmentRef {
                    sha256: one.sha256,
                    name,
                })
            })
            .collect();
        deliver(
            tx,
            Letter {
                project: actor.project().unwrap_or(table::project_of(&message)),
                to: self.to.clone(),
                cc: self.cc.clone(),
                bcc: Vec::new(),
                subject: prefixed("Fwd: ", &message.subject)?,
                body,
                importance: self.importance.unwrap_or(message.importance),
                ack_required: self.ack_required,
                answers: None,
                topic: None,
                attachments,
                words: None,
                reach: Reach::ByPolicy,
            },
        )
    }
}
