//! What an export shows: the threads of a project and their messages, read page by page.
//!
//! Messages never change, so an export that names its newest one is of one moment, however many
//! pages it takes. Blind copies are not read at all: nobody who reads an export may know of them.

use std::path::PathBuf;

use comity_domain::{MessageId, ProjectId, RunId, Seq, Sha256Hex, Slug, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::mail::table::Attachment;
use crate::params;
use crate::project::ProjectRef;
use crate::project::table as project_table;
use crate::query::Query;
use crate::store::{Row, StoreError};
use crate::tx::{Read, Snapshot};

/// Writes a project's mail and runs as pages that people without access can read and search.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Export {
    /// The project's key or slug.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// The new directory's name; one that exists is refused.
    #[serde(default)]
    pub to: Option<PathBuf>,
}

/// What was exported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Exported {
    /// The directory; `index.html` in it comes first.
    pub directory: String,
    /// How many messages are in it.
    pub messages: i64,
    /// How many runs are in it.
    pub runs: i64,
    /// Those of them that are only named, because what happened to them cannot be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable_runs: Vec<RunId>,
    /// How many pages it has.
    pub pages: i64,
}

/// An export as whoever writes it is told.
#[derive(Clone, Debug)]
pub struct Exporting {
    /// What to export, and where to.
    pub asked: Export,
    /// Where exports go that name no other place.
    pub exports: PathBuf,
    /// What time it is.
    pub at: Timestamp,
}

/// Asks which project is exported, and up to where.
#[derive(Clone, Debug)]
pub struct ExportScope {
    /// The project's key or slug.
    pub project: Option<ProjectRef>,
}

/// Which project is exported, and up to where.
#[derive(Clone, Debug)]
pub struct Scope {
    /// The project.
    pub project: ProjectId,
    /// Its short name.
    pub slug: Slug,
    /// What people call it.
    pub name: String,
    /// The newest message there is.
    pub through: MessageId,
    /// The newest event there is.
    pub until: Seq,
}

impl Query for ExportScope {
    const NAME: &'static str = "export_scope";
    const WHO: &'static [Party] = &[];
    type Answer = Scope;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Scope, Error> {
        let project = project_table::resolve(snapshot, actor, self.project.as_ref())?;
        let through = snapshot.one(
            "select coalesce(max(id), 0) from message",
            params![],
            Row::take,
        )?;
        Ok(Scope {
            project: project.id,
            slug: project.slug,
            name: project.name,
            through,
            until: snapshot.head(),
        })
    }
}

/// Asks for the next threads that began in a project, by their numbers.
#[derive(Clone, Copy, Debug)]
pub struct ExportThreads {
    /// The project.
    pub project: ProjectId,
    /// The thread before; 0 at the start.
    pub after: MessageId,
    /// The newest message that counts.
    pub through: MessageId,
    /// How many at most.
    pub limit: i64,
}

/// A thread to export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedThread {
    /// The number of its first message.
    pub id: MessageId,
    /// The subject of that.
    pub subject: String,
    /// How many messages it has.
    pub messages: i64,
}

impl Query for ExportThreads {
    const NAME: &'static str = "export_threads";
    const WHO: &'static [Party] = &[];
    type Answer = Vec<ExportedThread>;

    fn run(&self, _: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Self::Answer, Error> {
        // The operator, agent 0, is a member of every thread.
        Ok(snapshot.rows(
            "select f.id, f.subject,
                (select count(*) from message m where m.thread_id = f.id and m.id <= ?3)
             from thread_member t join message f on f.id = t.thread_id
             where t.agent_id = 0 and t.thread_id > ?2 and t.thread_id <= ?3 and f.project_id = ?1
             order by t.thread_id limit cast(?4 as bigint)",
            params![self.project, self.after, self.through, self.limit],
            |row| {
                Ok(ExportedThread {
                    id: row.take()?,
                    subject: row.take()?,
                    messages: row.take()?,
                })
            },
        )?)
    }
}

/// Asks for the next messages of a thread, in their order.
#[derive(Clone, Copy, Debug)]
pub struct ExportMessages {
    /// The project that is exported: names in it are written short.
    pub project: ProjectId,
    /// The thread.
    pub thread: MessageId,
    /// The message before; 0 at the start.
    pub after: MessageId,
    /// The newest message that counts.
    pub through: MessageId,
    /// How many at most.
    pub limit: i64,
}

/// A message to export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedMessage {
    /// Its number.
    pub id: MessageId,
    /// What it answers.
    pub reply_to: Option<MessageId>,
    /// The sender's name.
    pub from: String,
    /// Whom it is for.
    pub to: Vec<String>,
    /// Who got a copy that everybody may know of.
    pub cc: Vec<String>,
    /// Its subject.
    pub subject: String,
    /// Its body.
    pub body: String,
    /// How important it is, in a word.
    pub importance: String,
    /// Its topic.
    pub topic: Option<String>,
    /// When it was sent.
    pub at: Timestamp,
    /// What it carries.
    pub attachments: Vec<Attachment>,
}

impl Query for ExportMessages {
    const NAME: &'static str = "export_messages";
    const WHO: &'static [Party] = &[];
    type Answer = Vec<ExportedMessage>;

    fn run(&self, _: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Self::Answer, Error> {
        let mut messages = self.bare(snapshot)?;
        for message in &mut messages {
            for (delivery, name) in addressed(snapshot, self.project, message.id)? {
                match delivery.as_str() {
                    "to" => message.to.push(name),
                    _ => message.cc.push(name),
                }
            }
            message.attachments = attachments(snapshot, message.id)?;
        }
        Ok(messages)
    }
}

impl ExportMessages {
    /// Reads the messages without what stands in other tables.
    fn bare(&self, read: &mut impl Read) -> Result<Vec<ExportedMessage>, StoreError> {
        read.rows(
            "select m.id, m.reply_to, a.name, p.slug, m.subject, m.body, m.importance, m.topic,
                m.created_at
             from message m left join agent a on a.id = m.sender_id
             left join project p on p.id = a.project_id and p.id <> ?1
             where m.thread_id = ?2 and m.id > ?3 and m.id <= ?4
             order by m.id limit cast(?5 as bigint)",
            params![
                self.project,
                self.thread,
                self.after,
                self.through,
                self.limit
            ],
            |row| {
                Ok(ExportedMessage {
                    id: row.take()?,
                    reply_to: row.take()?,
                    from: named(row)?,
                    to: Vec::new(),
                    cc: Vec::new(),
                    subject: row.take()?,
                    body: row.take()?,
                    importance: row.take()?,
                    topic: row.take()?,
                    at: row.take()?,
                    attachments: Vec::new(),
                })
            },
        )
    }
}

/// Reads whom a message is openly for.
fn addressed(
    read: &mut impl Read,
    project: ProjectId,
    message: MessageId,
) -> Result<Vec<(String, String)>, StoreError> {
    read.rows(
        "select r.delivery, a.name, p.slug
         from recipient r left join agent a on a.id = r.agent_id
         left join project p on p.id = a.project_id and p.id <> ?1
         where r.message_id = ?2 and r.delivery in ('to', 'cc')
         order by r.agent_id",
        params![project, message],
        |row| Ok((row.take()?, named(row)?)),
    )
}

fn attachments(read: &mut impl Read, message: MessageId) -> Result<Vec<Attachment>, StoreError> {
    read.rows(
        "select sha256, name, bytes from message_attachment where message_id = ?1 order by position",
        params![message],
        |row| {
            Ok(Attachment {
                sha256: Sha256Hex::new(row.take()?),
                name: row.take()?,
                bytes: row.take()?,
            })
        },
    )
}

/// Reads a name, and the project it is from if that is another one.
pub(super) fn named(row: &mut Row) -> Result<String, StoreError> {
    let (name, elsewhere): (Option<String>, Option<String>) = (row.take()?, row.take()?);
    Ok(match (name, elsewhere) {
        (None, _) => "operator".to_owned(),
        (Some(name), None) => name,
        (Some(name), Some(slug)) => format!("{name}@{slug}"),
    })
}
