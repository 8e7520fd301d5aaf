//! Shows a thread.

use comity_domain::MessageId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::table::{self, Detail, Message, box_of, message_columns, message_joins, own_box};
use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::page::{After, Limit, Page};
use crate::params;
use crate::query::Query;
use crate::store::StoreError;
use crate::tx::{Read, Snapshot};

/// Shows the messages of a thread that you sent or got, in their order.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Thread {
    /// The number of any message of the thread.
    pub id: MessageId,
    /// How much of each message: `none`, `preview` or `full`; `full` unless given.
    #[serde(default = "full")]
    pub detail: Detail,
    /// How many at most.
    #[serde(default)]
    pub limit: Limit,
    /// The `next` of the page before.
    #[serde(default)]
    pub after: After,
}

const fn full() -> Detail {
    Detail::Full
}

impl Query for Thread {
    const NAME: &'static str = "thread";
    const WHO: &'static [Party] = &[Party::Itself, Party::Operator];
    type Answer = Page<Message>;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Page<Message>, Error> {
        let thread = thread_of(snapshot, actor, self.id)?;
        let chars = self.detail.chars();
        let read = |after, limit| messages(snapshot, actor, thread, (after, limit), chars);
        let bytes = |message: &Message| message.body.as_ref().map_or(0, String::len);
        let key = |message: &Message| message.id.get();
        let page = Page::gather(self.limit, self.after.get(), read, key, bytes)?;
        let items = page
            .items
            .into_iter()
            .map(|message| table::shown(snapshot, actor, message, self.detail))
            .collect::<Result<_, _>>()?;
        Ok(Page {
            items,
            next: page.next,
        })
    }
}

/// Finds the thread of a message, if the caller has a part in the thread.
pub(super) fn thread_of(
    read: &mut impl Read,
    actor: &Actor,
    id: MessageId,
) -> Result<MessageId, Error> {
    let unknown = || Error::not_found("thread", &id);
    let message = table::by_id(read, id)?.ok_or_else(unknown)?;
    let owner = own_box(actor);
    let member = read.one(
        "select count(*) from thread_member where agent_id = ?1 and thread_id = ?2",
        params![box_of(owner), message.thread_id],
        |row| Ok(row.take::<i64>()? > 0),
    )?;
    if member {
        return Ok(message.thread_id);
    }
    Err(unknown())
}

/// Reads the messages of a thread that the caller may see, with so much of their bodies.
pub(super) fn messages(
    read: &mut impl Read,
    actor: &Actor,
    thread: MessageId,
    (after, limit): (i64, i64),
    chars: i64,
) -> Result<Vec<Message>, StoreError> {
    let owner = own_box(actor);
    read.rows(
        concat!(
            "select ",
            message_columns!("?5"),
            " from message m",
            message_joins!(),
            "where m.thread_id = ?1 and m.id > ?2
             and (cast(?3 as bigint) = 0 or m.sender_id = ?3 or exists (
                 select 1 from recipient r where r.message_id = m.id and r.agent_id = ?3))
             order by m.id limit cast(?4 as bigint)"
        ),
        params![thread, after, box_of(owner), limit, chars],
        table::message,
    )
}
