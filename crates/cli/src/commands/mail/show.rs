//! `comity mail show`.

use clap::Args;
use comity_domain::MessageId;
use comity_kernel::Query as _;
use comity_kernel::mail::GetMessage;

use crate::failure::Failure;
use crate::parse::json;
use crate::session::Context;
use crate::show::{Shown, View, letter};

/// Shows one message.
#[derive(Args)]
pub(crate) struct Show {
    /// The message's number.
    #[arg(value_parser = json::<MessageId>)]
    id: MessageId,
}

impl Show {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = GetMessage { id: self.id };
        let answer = context.session()?.call(GetMessage::NAME, &request)?;
        let text = letter(&answer);
        Ok(Shown::new(answer, View::Text(text)))
    }
}
