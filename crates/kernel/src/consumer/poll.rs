//! Hands a consumer what comes next.

use comity_domain::limits::CONSUMER_SEEN_US;
use comity_domain::{PlainName, Seq, Span, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::table::{self, Consumer, Stored};
use crate::actor::{Actor, Party};
use crate::command::{Command, Stop};
use crate::error::Error;
use crate::event::list::{EventPage, SeenEvent};
use crate::event::look::look;
use crate::event::{Sight, Watch};
use crate::page::Limit;
use crate::params;
use crate::project::ProjectRef;
use crate::query::{Query, Waiting};
use crate::store::StoreError;
use crate::tx::{Read, Snapshot, WriteTx};

/// Reads on behind the last event that a consumer acknowledged: the same again until it does.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PollConsumer {
    /// The project's key or slug; an agent's own, and the whole workspace for the operator, unless
    /// given.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// The consumer's name.
    pub name: PlainName,
    /// The generation that you registered.
    pub generation: i64,
    /// How many events at most.
    #[serde(default)]
    pub limit: Limit,
    /// How long to wait for something if there is nothing, up to 60 s.
    #[serde(default)]
    pub wait: Option<Span>,
}

/// What comes next.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Polled {
    /// The consumer.
    pub consumer: Consumer,
    /// The events that it wants, in order.
    pub items: Vec<SeenEvent>,
    /// How far this goes in the log: what to acknowledge once all of it is done with.
    pub through: Seq,
    /// Whether the log goes on behind it; where few events match there may be nothing and yet more.
    pub more: bool,
    /// The new epoch of the log, until an event of it is acknowledged or the consumer is moved.
    pub epoch_changed: Option<NewEpoch>,
}

/// An epoch that a consumer has not come to yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NewEpoch {
    /// Its name.
    pub epoch: String,
    /// Its first event. Events between `after` and this one are lost to the log.
    pub begins: Seq,
    /// The last event that the log had before it.
    pub after: Seq,
    /// When it began.
    pub began_at: Timestamp,
}

const WHO: &[Party] = &[Party::Orchestrator, Party::Operator];

impl PollConsumer {
    fn find(&self, read: &mut impl Read, actor: &Actor) -> Result<Stored, Error> {
        let scope = table::scope(read, actor, self.project.as_ref())?;
        let stored = table::present(read, scope, &self.name)?;
        stored.must_be_of(self.generation)?;
        Ok(stored)
    }
}

impl Query for PollConsumer {
    const NAME: &'static str = "poll_consumer";
    const WHO: &'static [Party] = WHO;
    type Answer = Polled;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Polled, Error> {
        let stored = self.find(snapshot, actor)?;
        let watch = Watch::new(Sight::of(actor), stored.filter.clone());
        let looked = look(snapshot, &watch, stored.position, self.limit.get())?;
        let page = EventPage::of(snapshot, &looked)?;
        let come_to = stored.epoch(snapshot)?;
        Ok(Polled {
            epoch_changed: newest_epoch(snapshot, come_to)?,
            consumer: stored.show(snapshot)?,
            items: page.items,
            through: page.through,
            more: looked.more,
        })
    }
}

impl Waiting for PollConsumer {
    fn patience(&self) -> Option<Span> {
        self.wait
    }

    fn is_something(answer: &Polled) -> bool {
        !answer.items.is_empty() || answer.more || answer.epoch_changed.is_some()
    }
}

/// Notes that a consumer asked, if that is not noted of late: who asks is not silent.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct NoteSeen(pub(crate) PollConsumer);

impl Command for NoteSeen {
    const NAME: &'static str = "poll_consumer";
    const WHO: &'static [Party] = WHO;
    type Answer = ();

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<(), Stop> {
        let actor = tx.actor().clone();
        let stored = self.0.find(tx, &actor)?;
        let since_us = tx.now().lease.micros() - stored.seen.micros();
        if since_us >= CONSUMER_SEEN_US {
            tx.keep_cursor(&stored.row())?;
        }
        Ok(())
    }
}

fn newest_epoch(read: &mut impl Read, come_to: Seq) -> Result<Option<NewEpoch>, StoreError> {
    read.row(
        "select name, id, after_seq, began_at from epoch where id > ?1 order by id desc limit 1",
        params![come_to],
        |row| {
            Ok(NewEpoch {
                epoch: row.take()?,
                begins: row.take()?,
                after: row.take()?,
                began_at: row.take()?,
            })
        },
    )
}
