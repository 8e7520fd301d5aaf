//! `comity mail reply`.

use clap::Args;
use comity_domain::{Address, MessageId};
use comity_kernel::Command as _;
use comity_kernel::mail::{self, Subject};

use super::content::{Content, Weight};
use super::sent;
use crate::failure::Failure;
use crate::parse::{json, text};
use crate::session::Context;
use crate::show::Shown;

/// Answers a message.
#[derive(Args)]
#[command(after_help = "Example: comity mail reply 42 --body 'Done, see 7f3a.'")]
pub(crate) struct Reply {
    /// The message to answer.
    #[arg(value_parser = json::<MessageId>)]
    id: MessageId,
    #[command(flatten)]
    content: Content,
    /// One line; `Re:` and the subject of the message unless given.
    #[arg(long, short, value_parser = text::<Subject>)]
    subject: Option<Subject>,
    /// Another who gets it for information; again for more.
    #[arg(long, value_name = "AGENT", value_parser = text::<Address>)]
    cc: Vec<Address>,
    #[command(flatten)]
    weight: Weight,
}

impl Reply {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let body = self.content.body()?;
        let session = context.session()?;
        let request = mail::Reply {
            id: self.id,
            body,
            subject: self.subject.clone(),
            cc: self.cc.clone(),
            importance: self.weight.importance,
            ack_required: self.weight.ack,
            attachments: self.content.attach(&session)?,
        };
        session.call(mail::Reply::NAME, &request).map(sent::shown)
    }
}
