//! `comity wait`.

use clap::Args;
use comity_domain::Span;
use comity_kernel::Error;
use comity_kernel::mail::inbox::{BoxRef, Order};
use comity_kernel::mail::table::Detail;
use comity_kernel::mail::{Inbox, Topic};
use comity_kernel::page::{After, Limit};
use serde_json::json;

use super::mail::{boxes, waiting};
use crate::failure::Failure;
use crate::parse::text;
use crate::session::{Context, Session};
use crate::show::{Shown, View, listing};

/// Waits for mail.
#[derive(Args)]
#[command(
    after_help = "It ends with 0 and the messages, the oldest first, or with 1 if nothing came.\n\
    Example: comity wait --for 10m --from Green && comity mail inbox --unread"
)]
pub(crate) struct Wait {
    /// How long at most, such as `90s` or `1h`.
    #[arg(long = "for", value_name = "TIME", default_value = "60s", value_parser = text::<Span>)]
    patience: Span,
    /// Only for what this agent sent, or `operator`.
    #[arg(long, value_name = "AGENT", value_parser = text::<BoxRef>)]
    from: Option<BoxRef>,
    /// Only for what has this topic.
    #[arg(long, value_parser = text::<Topic>)]
    topic: Option<Topic>,
}

impl Wait {
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let answer = waiting::inbox(context, self.patience, |session| self.request(session))?;
        if waiting::is_empty(&answer) {
            return Err(self.nothing());
        }
        let text = listing::inbox(&answer);
        Ok(Shown::new(answer, View::Text(text)))
    }

    fn request(&self, session: &Session<'_>) -> Result<Inbox, Error> {
        Ok(Inbox {
            agent: boxes::whose(session, None),
            project: boxes::project_of(session, [self.from.as_ref(), None])?,
            unread: true,
            ack_pending: false,
            from_time: None,
            until_time: None,
            from: self.from.clone(),
            thread: None,
            topic: self.topic.clone(),
            importance: None,
            order: Order::Oldest,
            detail: Detail::Preview,
            wait: None,
            limit: Limit::default(),
            after: After::default(),
        })
    }

    fn nothing(&self) -> Failure {
        let seconds = self.patience.micros() / 1_000_000;
        Failure::answered(json!({
            "error": "not_found",
            "message": format!("nothing came within {seconds} s"),
            "hint": "wait longer with `--for`, or look at what is read with `comity mail inbox`",
        }))
    }
}
