//! Lists what a hook was not told.

use comity_domain::{HookId, Seq, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::table;
use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::page::{After, Limit, Page};
use crate::params;
use crate::query::Query;
use crate::tx::{Read as _, Snapshot};

/// Lists the events that a hook was not told although it was tried often enough, oldest first.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeadLetters {
    /// The hook's number.
    pub hook: HookId,
    /// How many at most.
    #[serde(default)]
    pub limit: Limit,
    /// The `next` of the page before.
    #[serde(default)]
    pub after: After,
}

/// An event that was given up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeadLetter {
    /// Its place in the log.
    pub seq: Seq,
    /// Its kind; null if the event is not in the log any more.
    pub kind: Option<String>,
    /// What it is about, such as `message:7`.
    pub subject: String,
    /// How often it was tried.
    pub attempts: i64,
    /// What went wrong the last time.
    pub last_error: String,
    /// When it was given up.
    pub dead_at: Timestamp,
}

impl Query for DeadLetters {
    const NAME: &'static str = "dead_letters";
    const WHO: &'static [Party] = &[Party::Operator];
    type Answer = Page<DeadLetter>;

    fn run(&self, _actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Page<DeadLetter>, Error> {
        let hook = table::by_id(snapshot, self.hook)?;
        if hook.is_none_or(|hook| hook.removed_at.is_some()) {
            return Err(Error::not_found("hook", &self.hook));
        }
        let items = snapshot.rows(
            "select d.seq, e.kind, d.subject_type, d.subject_id, d.attempts,
                coalesce(d.last_error, ''), d.dead_at
             from hook_delivery d left join event e on e.seq = d.seq
             where d.hook_id = ?1 and d.dead_at is not null and d.seq > ?2
             order by d.seq limit cast(?3 as bigint)",
            params![self.hook, self.after.get(), self.limit.and_one()],
            |row| {
                let (seq, kind) = (row.take()?, row.take()?);
                let (about, id): (String, i64) = (row.take()?, row.take()?);
                Ok(DeadLetter {
                    seq,
                    kind,
                    subject: format!("{about}:{id}"),
                    attempts: row.take()?,
                    last_error: row.take()?,
                    dead_at: row.take()?,
                })
            },
        )?;
        Ok(Page::cut(items, self.limit, |letter| letter.seq.get()))
    }
}
