//! Sends a message.

use std::sync::OnceLock;

use comity_domain::{Address, Importance, MessageId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::deliver::{AttachmentRef, Letter, Reach, SentMessage, deliver};
use super::reply::answered;
use super::{Body, Subject, Topic, table};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::error::Error;
use crate::project::table::{self as project_table, ProjectRef};
use crate::store::search::Cut;
use crate::tx::WriteTx;

/// Sends a message to agents of the project, `name@project` elsewhere, `operator`, or `*` for everybody.
///
/// It is stored, delivered and searchable at once, or not at all. Nobody is created by being
/// written to: an unknown name is refused with a near one.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SendMessage {
    /// The project's key or slug; an agent's own unless given.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// Those it is meant for; with `reply_to` left out it answers to the sender.
    #[serde(default)]
    pub to: Vec<Address>,
    /// Those who get it for their information.
    #[serde(default)]
    pub cc: Vec<Address>,
    /// Those the others do not know of.
    #[serde(default)]
    pub bcc: Vec<Address>,
    /// One line.
    pub subject: Subject,
    /// Markdown.
    pub body: Body,
    /// How much it matters; `normal` unless given.
    #[serde(default)]
    pub importance: Option<Importance>,
    /// Whether the recipients are asked to acknowledge it.
    #[serde(default)]
    pub ack_required: bool,
    /// The message it answers; it continues that one's thread.
    #[serde(default)]
    pub reply_to: Option<MessageId>,
    /// Your own key for what belongs together.
    #[serde(default)]
    pub topic: Option<Topic>,
    /// What it carries.
    #[serde(default)]
    pub attachments: Vec<AttachmentRef>,
    /// Its words, cut before the transaction.
    #[serde(skip)]
    pub words: OnceLock<Cut>,
}

impl Command for SendMessage {
    const NAME: &'static str = "send_message";
    const WHO: &'static [Party] = &[Party::Agent, Party::Operator];
    type Answer = SentMessage;

    fn prepare(&self) {
        self.words
            .get_or_init(|| Cut::of(&self.subject, &self.body));
    }

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<SentMessage, Stop> {
        let actor = tx.actor().clone();
        let answers = match self.reply_to {
            Some(id) => Some(
                table::visible(tx, &actor, id)?.ok_or_else(|| Error::not_found("message", &id))?,
            ),
            None => None,
        };
        let project = match (&self.project, &answers) {
            (None, Some(answers)) if actor.project().is_none() => table::project_of(answers),
            (named, _) => project_table::resolve(tx, &actor, named.as_ref())?.id,
        };
        let mut to = self.to.clone();
        if to.is_empty() && self.cc.is_empty() && self.bcc.is_empty() {
            to = match &answers {
                Some(answers) => answered(tx, &actor, answers)?,
                None => return Err(Error::invalid("to", "is missing").into()),
            };
        }
        deliver(
            tx,
            Letter {
                project,
                to,
                cc: self.cc.clone(),
                bcc: self.bcc.clone(),
                subject: self.subject.clone(),
                body: self.body.clone(),
                importance: self.importance.unwrap_or(Importance::Normal),
                ack_required: self.ack_required,
                answers,
                topic: self.topic.clone(),
                attachments: self.attachments.clone(),
                words: self.words.get().cloned(),
                reach: Reach::ByPolicy,
            },
        )
    }
}
