//! `comity mail read` and `comity mail ack`.

use clap::Args;
use comity_domain::limits::TASK_BYTES_MAX;
use comity_domain::{MessageId, Prose};
use comity_kernel::Command as _;
use comity_kernel::mail::{Acknowledge, ReadMessages};
use serde_json::Value;

use crate::failure::Failure;
use crate::parse::{json, text};
use crate::session::Context;
use crate::show::{Shown, View, field};

/// Marks messages as read.
#[derive(Args)]
pub(crate) struct Read {
    /// The messages' numbers.
    #[arg(required = true, value_name = "ID", value_parser = json::<MessageId>)]
    ids: Vec<MessageId>,
}

/// Acknowledges messages.
#[derive(Args)]
#[command(after_help = "Example: comity mail ack 42 43 --note 'I start at once.'")]
pub(crate) struct Ack {
    /// The messages' numbers.
    #[arg(required = true, value_name = "ID", value_parser = json::<MessageId>)]
    ids: Vec<MessageId>,
    /// What you say with it.
    #[arg(long, value_name = "TEXT", value_parser = text::<Prose<TASK_BYTES_MAX>>)]
    note: Option<Prose<TASK_BYTES_MAX>>,
}

impl Read {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = ReadMessages {
            ids: self.ids.clone(),
        };
        let answer = context.session()?.call(ReadMessages::NAME, &request)?;
        Ok(marked("read", answer))
    }
}

impl Ack {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = Acknowledge {
            ids: self.ids.clone(),
            note: self.note.clone(),
        };
        let answer = context.session()?.call(Acknowledge::NAME, &request)?;
        Ok(marked("acknowledged", answer))
    }
}

fn marked(how: &str, answer: Value) -> Shown {
    let messages = answer.get("messages").and_then(Value::as_array);
    let ids = messages.into_iter().flatten().map(|one| field(one, "id"));
    let text = format!("{how} {}", ids.collect::<Vec<_>>().join(", "));
    Shown::new(answer, View::Text(text))
}
