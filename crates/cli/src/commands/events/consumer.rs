//! `comity events consumer`.

use clap::{Args, Subcommand};
use comity_domain::{PlainName, Seq, Span};
use comity_kernel::consumer::{
    AckConsumer, ListConsumers, PollConsumer, RegisterConsumer, ResetConsumer,
};
use comity_kernel::event::Wanted;
use comity_kernel::page::Limit;
use comity_kernel::{Command as _, Query as _};
use serde_json::{Map, Value};

use super::choosing::{Choosing, named_project};
use crate::commands::paging::Paging;
use crate::failure::Failure;
use crate::parse::{json, text};
use crate::session::Context;
use crate::show::{Column, Shown, View, events};

const CONSUMER: &[Column] = &[
    Column::text("name"),
    Column::text("generation"),
    Column::text("durable"),
    Column::text("acked_seq"),
    Column::time("acked_at"),
    Column::text("lag"),
    Column::time("oldest_at"),
];

/// Consumers.
#[derive(Subcommand)]
pub(crate) enum ConsumerCommand {
    /// Register a consumer, or take over the one of this name.
    Add(Add),
    /// Read on behind what a consumer acknowledged.
    Poll(Poll),
    /// Acknowledge everything up to an event.
    Ack(Ack),
    /// Move a consumer to another place in the log.
    Reset(Reset),
    /// List consumers, and how far each is behind.
    List(List),
}

#[derive(Args)]
pub(crate) struct Add {
    /// The consumer's name.
    #[arg(value_parser = text::<PlainName>)]
    name: PlainName,
    /// Behind which event a new one starts: now unless given.
    #[arg(long, value_name = "SEQ", value_parser = json::<Seq>)]
    since: Option<Seq>,
    /// After how long a silence it is gone, such as `10m`: never unless given.
    #[arg(long, value_name = "TIME", value_parser = text::<Span>)]
    ttl: Option<Span>,
    #[command(flatten)]
    choosing: Choosing,
}

#[derive(Args)]
pub(crate) struct Poll {
    #[command(flatten)]
    instance: Instance,
    /// How many events at most.
    #[arg(long, value_name = "N", value_parser = json::<Limit>)]
    limit: Option<Limit>,
    /// How long to wait for something, up to 60 s.
    #[arg(long, value_name = "TIME", value_parser = text::<Span>)]
    wait: Option<Span>,
}

#[derive(Args)]
pub(crate) struct Ack {
    #[command(flatten)]
    instance: Instance,
    /// The last event that is done with.
    #[arg(value_parser = json::<Seq>)]
    seq: Seq,
    /// What to keep beside it: a JSON object, field by field.
    #[arg(long, value_name = "JSON", value_parser = json::<Map<String, Value>>, default_value = "{}")]
    extra: Map<String, Value>,
}

#[derive(Args)]
pub(crate) struct Reset {
    /// The consumer's name.
    #[arg(value_parser = text::<PlainName>)]
    name: PlainName,
    /// Behind which event it goes on.
    #[arg(value_name = "SEQ", value_parser = json::<Seq>)]
    to_seq: Seq,
}

#[derive(Args)]
pub(crate) struct List {
    #[command(flatten)]
    paging: Paging,
}

/// One instance of a consumer.
#[derive(Args)]
struct Instance {
    /// The consumer's name.
    #[arg(value_parser = text::<PlainName>)]
    name: PlainName,
    /// The generation that `add` answered.
    #[arg(long, value_name = "N")]
    generation: i64,
}

impl ConsumerCommand {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        match self {
            Self::Add(add) => add.run(context),
            Self::Poll(poll) => poll.run(context),
            Self::Ack(ack) => ack.run(context),
            Self::Reset(reset) => reset.run(context),
            Self::List(list) => list.run(context),
        }
    }
}

impl Add {
    fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let wanted = self.choosing.wanted(&session)?;
        let request = RegisterConsumer {
            project: wanted.project.clone(),
            name: self.name.clone(),
            // The consumer's own project says which events are meant.
            filter: Wanted {
                project: None,
                ..wanted
            },
            since: self.since,
            durable: None,
            ttl: self.ttl,
        };
        let answer = session.call(RegisterConsumer::NAME, &request)?;
        Ok(Shown::entity(answer, "consumer", CONSUMER))
    }
}

impl Poll {
    fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let request = PollConsumer {
            project: named_project(&session)?,
            name: self.instance.name.clone(),
            generation: self.instance.generation,
            limit: self.limit.unwrap_or_default(),
            wait: self.wait,
        };
        let answer = session.call(PollConsumer::NAME, &request)?;
        let text = events::polled(&answer);
        Ok(Shown::new(answer, View::Text(text)))
    }
}

impl Ack {
    fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let request = AckConsumer {
            project: named_project(&session)?,
            name: self.instance.name.clone(),
            generation: self.instance.generation,
            seq: self.seq,
            extra: self.extra.clone(),
        };
        let answer = session.call(AckConsumer::NAME, &request)?;
        Ok(Shown::entity(answer, "consumer", CONSUMER))
    }
}

impl Reset {
    fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let request = ResetConsumer {
            project: named_project(&session)?,
            name: self.name.clone(),
            to_seq: self.to_seq,
        };
        let answer = session.call(ResetConsumer::NAME, &request)?;
        Ok(Shown::entity(answer, "consumer", CONSUMER))
    }
}

impl List {
    fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let request = ListConsumers {
            project: named_project(&session)?,
            limit: self.paging.limit(),
            after: self.paging.after(),
        };
        let answer = session.call(ListConsumers::NAME, &request)?;
        Ok(Shown::table(answer, CONSUMER))
    }
}
