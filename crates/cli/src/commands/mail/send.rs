//! `comity mail send`.

use clap::Args;
use clap_complete::ArgValueCandidates;
use comity_domain::{Address, MessageId};
use comity_kernel::Command as _;
use comity_kernel::mail::{SendMessage, Subject, Topic};

use super::content::{Content, Weight};
use super::sent;
use crate::failure::Failure;
use crate::parse::{json, text};
use crate::place;
use crate::session::Context;
use crate::show::Shown;
use crate::token_file;

/// Sends a message.
#[derive(Args)]
#[command(after_help = "Example: git diff | comity mail send Green --subject 'Please look' --ack")]
pub(crate) struct Send {
    /// Those it is meant for: names, numbers, `name@project`, `operator`, or `*` for everybody.
    #[arg(required_unless_present_any = ["reply_to", "cc", "bcc"],
        value_parser = text::<Address>, add = ArgValueCandidates::new(token_file::agents))]
    to: Vec<Address>,
    /// One who gets it for information; again for more.
    #[arg(long, value_name = "AGENT", value_parser = text::<Address>)]
    cc: Vec<Address>,
    /// One the others do not know of; again for more.
    #[arg(long, value_name = "AGENT", value_parser = text::<Address>)]
    bcc: Vec<Address>,
    /// One line.
    #[arg(long, short, value_parser = text::<Subject>)]
    subject: Subject,
    #[command(flatten)]
    content: Content,
    #[command(flatten)]
    weight: Weight,
    /// The message it answers; it continues that one's thread.
    #[arg(long, value_name = "ID", value_parser = json::<MessageId>)]
    reply_to: Option<MessageId>,
    /// Your own key for what belongs together.
    #[arg(long, value_parser = text::<Topic>)]
    topic: Option<Topic>,
}

impl Send {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        // Read before the door opens: whoever pipes may take a while.
        let body = self.content.body()?;
        let session = context.session()?;
        let project = match self.reply_to {
            // An answer belongs to the project of what it answers.
            Some(_) => {
                let given = context.globals.project.as_ref();
                given.map(place::named_project).transpose()?
            }
            None => session.project()?,
        };
        let request = SendMessage {
            project,
            to: self.to.clone(),
            cc: self.cc.clone(),
            bcc: self.bcc.clone(),
            subject: self.subject.clone(),
            body,
            importance: self.weight.importance,
            ack_required: self.weight.ack,
            reply_to: self.reply_to,
            topic: self.topic.clone(),
            attachments: self.content.attach(&session)?,
            words: std::sync::OnceLock::new(),
        };
        session.call(SendMessage::NAME, &request).map(sent::shown)
    }
}
