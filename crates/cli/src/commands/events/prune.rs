//! `comity events prune`.

use std::fmt::Write as _;

use clap::Args;
use comity_domain::{Seq, Span};
use comity_kernel::checkpoint::Prune as Request;
use serde_json::Value;

use crate::failure::Failure;
use crate::parse::text;
use crate::session::Context;
use crate::show::{Shown, View, field};

#[derive(Args)]
#[command(
    after_help = "The archive must have what goes, and alone has it then: keep copies of it.\n\
    Every durable consumer and every hook must be past it.\n\
    Example: comity events prune --older-than 30d --dry-run"
)]
pub(crate) struct Prune {
    /// The first event to keep.
    #[arg(long, value_name = "SEQ", required_unless_present = "older_than")]
    before: Option<i64>,
    /// Keep what happened this long ago or later.
    #[arg(long, value_name = "TIME", value_parser = text::<Span>, conflicts_with = "before")]
    older_than: Option<Span>,
    /// Only tell what would go, and who is in the way.
    #[arg(long)]
    dry_run: bool,
}

impl Prune {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let request = Request {
            before: self.before.map(Seq::new),
            older_than: self.older_than,
            dry_run: self.dry_run,
        };
        let answer = session.call("prune", &request)?;
        let text = told(&answer, self.dry_run);
        Ok(Shown::new(answer, View::Text(text)))
    }
}

fn told(answer: &Value, dry_run: bool) -> String {
    let (events, through) = (field(answer, "events"), field(answer, "pruned_to"));
    if !dry_run {
        return format!("{events} events went; up to {through} the archive alone has them");
    }
    let mut text = format!("{events} events would go, up to {through}");
    let in_the_way = answer.get("in_the_way").and_then(Value::as_array);
    for one in in_the_way.into_iter().flatten() {
        let (what, to) = (field(one, "what"), field(one, "may_go_to"));
        // Writing into a string does not fail.
        let _ = write!(text, "\nin the way: {what} (up to event {to} may go)");
    }
    text
}
