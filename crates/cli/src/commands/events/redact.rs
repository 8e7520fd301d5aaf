//! `comity events redact`.

use clap::Args;
use comity_domain::limits::TASK_BYTES_MAX;
use comity_domain::{Seq, Text};
use comity_kernel::Command as _;
use comity_kernel::redaction::RedactEvent;

use crate::failure::Failure;
use crate::parse::text;
use crate::session::Context;
use crate::show::{Shown, View, field};

#[derive(Args)]
#[command(
    after_help = "Numbers, names and states stay, and the chain still verifies. What was copied by \
    others is an event of its own.\n\
    Afterwards make the archive anew: comity archive rebuild\n\
    Example: comity events redact 4711 --reason \"a password\""
)]
pub(crate) struct Redact {
    /// The event's place in the log.
    #[arg(value_name = "SEQ")]
    seq: i64,
    /// Why; it stays in the log, so it must not repeat what is taken out.
    #[arg(long, value_parser = text::<Text<TASK_BYTES_MAX>>)]
    reason: Text<TASK_BYTES_MAX>,
}

impl Redact {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let request = RedactEvent {
            seq: Seq::new(self.seq),
            reason: self.reason.clone(),
        };
        let answer = session.call(RedactEvent::NAME, &request)?;
        let redaction = answer.get("redaction").unwrap_or(&answer);
        let text = format!(
            "event {} ({}) is redacted\n\
             the archive still holds it until `comity archive rebuild`; backups are yours to remove",
            field(redaction, "seq"),
            field(redaction, "kind"),
        );
        Ok(Shown::new(answer, View::Text(text)))
    }
}
