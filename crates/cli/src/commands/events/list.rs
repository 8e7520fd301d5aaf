//! `comity events list`.

use clap::Args;
use comity_domain::{Seq, Span};
use comity_kernel::Query as _;
use comity_kernel::event::{Events, Wanted};
use comity_kernel::page::{After, Limit};

use super::choosing::Choosing;
use crate::commands::paging::Paging;
use crate::failure::Failure;
use crate::parse::json;
use crate::session::Context;
use crate::show::{Shown, View, events};

/// Lists events.
#[derive(Args)]
pub(crate) struct List {
    /// The last event seen: a sequence number, exclusive.
    #[arg(long, value_name = "SEQ", value_parser = json::<Seq>)]
    since: Option<Seq>,
    #[command(flatten)]
    choosing: Choosing,
    #[command(flatten)]
    paging: Paging,
}

impl List {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let wanted = self.choosing.wanted(&session)?;
        let request = Events {
            after: self.paging.after(),
            ..page(wanted, self.since, self.paging.limit(), None)
        };
        let answer = session.call(Events::NAME, &request)?;
        let text = events::page(&answer);
        Ok(Shown::new(answer, View::Text(text)))
    }
}

/// Asks for a page of events.
pub(super) fn page(wanted: Wanted, since: Option<Seq>, limit: Limit, wait: Option<Span>) -> Events {
    Events {
        since,
        project: wanted.project,
        run: wanted.run,
        kinds: wanted.kinds,
        subject: wanted.subject,
        actor: wanted.actor,
        wait,
        limit,
        after: After::default(),
    }
}
