//! `comity mail forward`.

use clap::Args;
use clap_complete::ArgValueCandidates;
use comity_domain::limits::BODY_BYTES_MAX;
use comity_domain::{Address, MessageId, Prose};
use comity_kernel::Command as _;
use comity_kernel::mail;

use super::content::Weight;
use super::sent;
use crate::failure::Failure;
use crate::parse::{json, text};
use crate::session::Context;
use crate::show::Shown;
use crate::token_file;

/// Passes a message on.
#[derive(Args)]
#[command(after_help = "Example: comity mail forward 42 Green --note 'This is yours.'")]
pub(crate) struct Forward {
    /// The message to pass on.
    #[arg(value_parser = json::<MessageId>)]
    id: MessageId,
    /// Those it is meant for.
    #[arg(required = true, value_parser = text::<Address>,
        add = ArgValueCandidates::new(token_file::agents))]
    to: Vec<Address>,
    /// One who gets it for information; again for more.
    #[arg(long, value_name = "AGENT", value_parser = text::<Address>)]
    cc: Vec<Address>,
    /// What you say with it.
    #[arg(long, value_name = "TEXT", value_parser = text::<Prose<BODY_BYTES_MAX>>)]
    note: Option<Prose<BODY_BYTES_MAX>>,
    #[command(flatten)]
    weight: Weight,
}

impl Forward {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = mail::Forward {
            id: self.id,
            to: self.to.clone(),
            cc: self.cc.clone(),
            note: self.note.clone(),
            importance: self.weight.importance,
            ack_required: self.weight.ack,
        };
        let session = context.session()?;
        session.call(mail::Forward::NAME, &request).map(sent::shown)
    }
}
