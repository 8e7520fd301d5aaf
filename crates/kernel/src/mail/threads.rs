//! Lists threads.

use comity_domain::{MessageId, Slug, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::inbox::{BoxRef, whose};
use super::table::{Owner, box_of};
use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::page::{After, Limit, Page};
use crate::params;
use crate::project::ProjectRef;
use crate::query::Query;
use crate::store::StoreError;
use crate::tx::{Read, Snapshot};

/// Lists the threads you have a part in, those with the newest message first.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Threads {
    /// Whose: your own unless given; the operator sees all.
    #[serde(default)]
    pub agent: Option<BoxRef>,
    /// The project's key or slug, where the agent is given by name.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// How many at most.
    #[serde(default)]
    pub limit: Limit,
    /// The `next` of the page before.
    #[serde(default)]
    pub after: After,
}

/// A thread as it is listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ListedThread {
    /// The number of its first message.
    pub id: MessageId,
    /// The slug of the project it began in.
    pub project: Slug,
    /// The subject of the newest message the owner of the list has a part in.
    pub subject: String,
    /// The newest message the owner of the list has a part in.
    pub last_message_id: MessageId,
    /// When that was sent.
    pub last_at: Timestamp,
    /// Who sent that.
    pub last_from: String,
    /// How many of its messages the owner has not read.
    pub unread: i64,
}

impl Query for Threads {
    const NAME: &'static str = "threads";
    const WHO: &'static [Party] = &[Party::Itself, Party::Operator];
    type Answer = Page<ListedThread>;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Page<ListedThread>, Error> {
        let owner = whose(snapshot, actor, self.project.as_ref(), self.agent.as_ref())?;
        let before = match self.after.get() {
            0 => i64::MAX,
            after => after,
        };
        let threads = page(snapshot, owner, before, self.limit.and_one())?;
        Ok(Page::cut(threads, self.limit, |thread| {
            thread.last_message_id.get()
        }))
    }
}

fn page(
    read: &mut impl Read,
    owner: Owner,
    before: i64,
    limit: i64,
) -> Result<Vec<ListedThread>, StoreError> {
    read.rows(
        "select t.thread_id, p.slug, l.subject, t.last_message_id, l.created_at, a.name,
            (select count(*) from message m join recipient r on r.message_id = m.id
             where m.thread_id = t.thread_id and r.agent_id = t.agent_id and r.read_at is null)
         from thread_member t join message f on f.id = t.thread_id
         join project p on p.id = f.project_id
         join message l on l.id = t.last_message_id
         left join agent a on a.id = l.sender_id
         where t.agent_id = ?1 and t.last_message_id < ?2
         order by t.last_message_id desc limit cast(?3 as bigint)",
        params![box_of(owner), before, limit],
        |row| {
            Ok(ListedThread {
                id: row.take()?,
                project: Slug::from_stored(row.take()?),
                subject: row.take()?,
                last_message_id: row.take()?,
                last_at: row.take()?,
                last_from: row
                    .take::<Option<String>>()?
                    .unwrap_or_else(|| "operator".to_owned()),
                unread: row.take()?,
            })
        },
    )
}
