//! Lists acknowledgements that are overdue.

use comity_domain::{MessageId, Span, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::table::{box_of, own_box};
use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::page::{After, Limit, Page};
use crate::params;
use crate::project::ProjectRef;
use crate::project::table as project_table;
use crate::query::Query;
use crate::tx::{Read, Snapshot};

/// Lists acknowledgements that were asked for and not given for a while, oldest first.
///
/// An agent sees those it asked for and those it owes; the operator all of the project.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OverdueAcks {
    /// The project's key or slug; an agent's own unless given.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// How long ago the message was sent at least; any time unless given.
    #[serde(default)]
    pub older_than: Option<Span>,
    /// How many at most.
    #[serde(default)]
    pub limit: Limit,
    /// The `next` of the page before.
    #[serde(default)]
    pub after: After,
}

/// An acknowledgement that is overdue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OverdueAck {
    /// The message.
    pub message_id: MessageId,
    /// Its subject.
    pub subject: String,
    /// Who asked.
    pub from: String,
    /// Who was asked and has not answered.
    pub waiting_for: Vec<String>,
    /// When it was sent.
    pub created_at: Timestamp,
}

/// What the operator sees of a project; the fourth parameter is not used.
const OF_PROJECT: &str = "select m.id, m.subject, a.name, m.created_at from message m
    left join agent a on a.id = m.sender_id
    where m.project_id = ?1 and m.ack_required = 1 and m.id > ?2 and m.created_at <= ?3
    and cast(?4 as bigint) = 0
    and exists (select 1 from recipient r where r.message_id = m.id and r.acked_at is null)
    order by m.id limit cast(?5 as bigint)";

/// What an agent asked for or owes, whatever the project.
const OF_AGENT: &str = "select m.id, m.subject, a.name, m.created_at from message m
    left join agent a on a.id = m.sender_id
    where m.ack_required = 1 and m.id > ?2 and m.created_at <= ?3 and cast(?1 as bigint) > 0
    and (m.sender_id = ?4 or m.id in (select message_id from recipient
        where agent_id = ?4 and ack_required = 1 and acked_at is null))
    and exists (select 1 from recipient r where r.message_id = m.id and r.acked_at is null
        and (m.sender_id = ?4 or r.agent_id = ?4))
    order by m.id limit cast(?5 as bigint)";

impl Query for OverdueAcks {
    const NAME: &'static str = "overdue_acks";
    const WHO: &'static [Party] = &[Party::Operator, Party::Agent];
    type Answer = Page<OverdueAck>;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Page<OverdueAck>, Error> {
        let project = project_table::resolve(snapshot, actor, self.project.as_ref())?;
        let age_us = self.older_than.map_or(0, Span::micros);
        let before = snapshot.now().at.micros().saturating_sub(age_us);
        let own = box_of(own_box(actor));
        let sql = match own {
            0 => OF_PROJECT,
            _ => OF_AGENT,
        };
        let mut overdue: Vec<OverdueAck> = snapshot.rows(
            sql,
            params![
                project.id,
                self.after.get(),
                before,
                own,
                self.limit.and_one()
            ],
            |row| {
                Ok(OverdueAck {
                    message_id: row.take()?,
                    subject: row.take()?,
                    from: row
                        .take::<Option<String>>()?
                        .unwrap_or_else(|| "operator".to_owned()),
                    waiting_for: Vec::new(),
                    created_at: row.take()?,
                })
            },
        )?;
        for ack in &mut overdue {
            ack.waiting_for = waiting_for(snapshot, ack.message_id, own)?;
        }
        Ok(Page::cut(overdue, self.limit, |ack| ack.message_id.get()))
    }
}

fn waiting_for(
    read: &mut impl Read,
    message: MessageId,
    own: i64,
) -> Result<Vec<String>, crate::store::StoreError> {
    read.rows(
        "select coalesce(a.name, 'operator') from recipient r
         join message m on m.id = r.message_id
         left join agent a on a.id = r.agent_id
         where r.message_id = ?1 and r.acked_at is null
         and (cast(?2 as bigint) = 0 or m.sender_id = ?2 or r.agent_id = ?2) order by r.agent_id",
        params![message, own],
        crate::store::Row::take,
    )
}
