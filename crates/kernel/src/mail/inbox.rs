//! Lists what an agent got.

use comity_domain::{Delivery, Importance, MessageId, Span, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Topic;
use super::table::{self, Detail, Message, Owner, box_of, message_columns, message_joins, own_box};
use crate::actor::{Actor, Party};
use crate::agent::table::{self as agent_table, AgentRef};
use crate::error::Error;
use crate::page::{After, Limit, Page};
use crate::params;
use crate::project::ProjectRef;
use crate::project::table as project_table;
use crate::query::{Query, Waiting};
use crate::store::{Row, StoreError};
use crate::tx::{Read, Snapshot};

/// Lists what you got, the newest first. Listing is not reading.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Inbox {
    /// Whose: your own unless given; the operator may look into any, and has its own, `operator`.
    #[serde(default)]
    pub agent: Option<BoxRef>,
    /// The project's key or slug, where the agent is given by name.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// Only what you have not read.
    #[serde(default)]
    pub unread: bool,
    /// Only what asks for an acknowledgement that you have not given.
    #[serde(default)]
    pub ack_pending: bool,
    /// Only what was sent at this time or later.
    #[serde(default)]
    pub from_time: Option<Timestamp>,
    /// Only what was sent before this time.
    #[serde(default)]
    pub until_time: Option<Timestamp>,
    /// Only what this agent sent, or `operator`.
    #[serde(default)]
    pub from: Option<BoxRef>,
    /// Only what belongs to this thread.
    #[serde(default)]
    pub thread: Option<MessageId>,
    /// Only what has this topic.
    #[serde(default)]
    pub topic: Option<Topic>,
    /// Only what matters at least so much.
    #[serde(default)]
    pub importance: Option<Importance>,
    /// `newest` or `oldest` first.
    #[serde(default)]
    pub order: Order,
    /// How much of each message: `none`, `preview` or `full`.
    #[serde(default)]
    pub detail: Detail,
    /// How long to wait for something if there is nothing, up to 60 s.
    #[serde(default)]
    pub wait: Option<Span>,
    /// How many at most.
    #[serde(default)]
    pub limit: Limit,
    /// The `next` of the page before.
    #[serde(default)]
    pub after: After,
}

/// Which end of a list comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// The last one first.
    #[default]
    Newest,
    /// The first one first.
    Oldest,
}

/// Whose box: an agent's by name or number, or `operator`.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(inline, with = "String")]
pub enum BoxRef {
    /// The operator's.
    Operator,
    /// An agent's.
    Agent(AgentRef),
}

impl Serialize for BoxRef {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Operator => serializer.serialize_str("operator"),
            Self::Agent(agent) => agent.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for BoxRef {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        if value
            .as_str()
            .is_some_and(|text| text.eq_ignore_ascii_case("operator"))
        {
            return Ok(Self::Operator);
        }
        AgentRef::deserialize(value)
            .map(Self::Agent)
            .map_err(serde::de::Error::custom)
    }
}

/// A message in somebody's box.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Entry {
    /// The message.
    #[serde(flatten)]
    pub message: Message,
    /// How it names the owner of the box.
    pub delivery: Delivery,
    /// When the owner read it.
    pub read_at: Option<Timestamp>,
    /// When the owner acknowledged it.
    pub acked_at: Option<Timestamp>,
}

impl Query for Inbox {
    const NAME: &'static str = "inbox";
    const WHO: &'static [Party] = &[Party::Itself, Party::Operator];
    type Answer = Page<Entry>;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Page<Entry>, Error> {
        let owner = whose(snapshot, actor, self.project.as_ref(), self.agent.as_ref())?;
        let from = match &self.from {
            Some(from) => Some(sender(snapshot, actor, self.project.as_ref(), from)?),
            None => None,
        };
        let newest = self.order == Order::Newest;
        let start = match self.after.get() {
            0 if newest => i64::MAX,
            after => after,
        };
        let read = |start, limit| page(snapshot, self, owner, from, (start, limit));
        let bytes = |entry: &Entry| entry.message.body.as_ref().map_or(0, String::len);
        let key = |entry: &Entry| entry.message.id.get();
        let mut page = Page::gather(self.limit, start, read, key, bytes)?;
        for entry in &mut page.items {
            let message = entry.message.clone();
            entry.message = table::shown(snapshot, actor, message, self.detail)?;
        }
        Ok(page)
    }
}

impl Waiting for Inbox {
    fn patience(&self) -> Option<Span> {
        self.wait
    }

    fn is_something(answer: &Page<Entry>) -> bool {
        !answer.items.is_empty()
    }
}

/// Finds whose box is meant; an agent's own is the only one it may look into (E5).
pub(super) fn whose(
    read: &mut impl Read,
    actor: &Actor,
    project: Option<&ProjectRef>,
    named: Option<&BoxRef>,
) -> Result<Owner, Error> {
    let own = own_box(actor);
    let Some(named) = named else {
        // A project that is named must be there, though nothing else is looked for in it (S20).
        if project.is_some() {
            project_table::resolve(read, actor, project)?;
        }
        return Ok(own);
    };
    let meant = sender(read, actor, project, named)?;
    if meant == own || own.is_none() {
        return Ok(meant);
    }
    Err(Error::Forbidden {
        reason: "an agent looks into its own box only".to_owned(),
    })
}

/// Finds the agent that is meant.
pub(super) fn sender(
    read: &mut impl Read,
    actor: &Actor,
    project: Option<&ProjectRef>,
    named: &BoxRef,
) -> Result<Owner, Error> {
    match named {
        BoxRef::Operator => Ok(None),
        BoxRef::Agent(agent) => {
            let project = match project {
                Some(_) => Some(project_table::resolve(read, actor, project)?.id),
                None => None,
            };
            Ok(Some(agent_table::resolve(read, actor, project, agent)?.id))
        }
    }
}

/// What every variant of the list has in common; the rest decides which index is used.
macro_rules! inbox_sql {
    ($which:literal, $beyond:literal, $order:literal) => {
        concat!(
            "select ", message_columns!("?11"), ", r.delivery, r.read_at, r.acked_at
             from recipient r join message m on m.id = r.message_id", message_joins!(),
            "where r.agent_id = ?1 ", $which, $beyond,
            " and m.created_at >= cast(?3 as bigint) and m.created_at < cast(?4 as bigint)
              and (cast(?5 as bigint) is null or coalesce(m.sender_id, 0) = ?5)
              and (cast(?6 as bigint) is null or m.thread_id = ?6)
              and (cast(?7 as text) is null or m.topic = ?7)
              and case m.importance when 'low' then 0 when 'normal' then 1 when 'high' then 2 else 3 end
                  >= cast(?8 as bigint)
              and (cast(?9 as bigint) = 0 or (r.ack_required = 1 and r.acked_at is null))
              order by r.message_id ", $order, " limit cast(?10 as bigint)"
        )
    };
}

const NEWEST: &str = inbox_sql!("", "and r.message_id < ?2", "desc");
const OLDEST: &str = inbox_sql!("", "and r.message_id > ?2", "asc");
const UNREAD_NEWEST: &str = inbox_sql!("and r.read_at is null ", "and r.message_id < ?2", "desc");
const UNREAD_OLDEST: &str = inbox_sql!("and r.read_at is null ", "and r.message_id > ?2", "asc");
const PENDING_NEWEST: &str = inbox_sql!(
    "and r.ack_required = 1 and r.acked_at is null ",
    "and r.message_id < ?2",
    "desc"
);
const PENDING_OLDEST: &str = inbox_sql!(
    "and r.ack_required = 1 and r.acked_at is null ",
    "and r.message_id > ?2",
    "asc"
);

fn page(
    read: &mut impl Read,
    wanted: &Inbox,
    owner: Owner,
    from: Option<Owner>,
    (start, limit): (i64, i64),
) -> Result<Vec<Entry>, StoreError> {
    let sql = match (wanted.order, wanted.unread, wanted.ack_pending) {
        (Order::Newest, true, _) => UNREAD_NEWEST,
        (Order::Oldest, true, _) => UNREAD_OLDEST,
        (Order::Newest, false, true) => PENDING_NEWEST,
        (Order::Oldest, false, true) => PENDING_OLDEST,
        (Order::Newest, false, false) => NEWEST,
        (Order::Oldest, false, false) => OLDEST,
    };
    let floor = wanted.importance.unwrap_or(Importance::Low) as i64;
    read.rows(
        sql,
        params![
            box_of(owner),
            start,
            wanted.from_time.map_or(i64::MIN, Timestamp::micros),
            wanted.until_time.map_or(i64::MAX, Timestamp::micros),
            from.map(box_of),
            wanted.thread,
            wanted.topic.as_deref(),
            floor,
            wanted.ack_pending,
            limit,
            wanted.detail.chars(),
        ],
        entry,
    )
}

fn entry(row: &mut Row) -> Result<Entry, StoreError> {
    Ok(Entry {
        message: table::message(row)?,
        delivery: row.word(Delivery::from_word)?,
        read_at: row.take()?,
        acked_at: row.take()?,
    })
}
