//! Finds messages by their words.

use comity_domain::limits::SNIPPET_CHARS_MAX;
use comity_domain::search::{self, snippet};
use comity_domain::{AgentName, MessageId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::inbox::{BoxRef, sender, whose};
use super::table::{self, Message, Owner};
use crate::actor::{Actor, Party};
use crate::agent::table::AgentRef;
use crate::error::Error;
use crate::page::{After, Limit, Page};
use crate::project::ProjectRef;
use crate::project::table as project_table;
use crate::query::Query;
use crate::store::search::{Ranking, SearchFilter};
use crate::tx::Snapshot;

/// Finds messages you sent or got by their words; the operator finds all.
///
/// Words, `"a phrase"`, `-without`, `begin*`, `from:Name`, `subject:word`. All of them must match.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// What to look for.
    pub query: String,
    /// The project's key or slug; an agent's own mail is looked through whatever the project.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// Only the mail of this agent: your own unless you are the operator.
    #[serde(default)]
    pub agent: Option<BoxRef>,
    /// Only messages of this thread.
    #[serde(default)]
    pub thread: Option<MessageId>,
    /// Only what this agent sent, or `operator`; the same as `from:` in the query.
    #[serde(default)]
    pub from: Option<BoxRef>,
    /// Only what was sent at this time or later.
    #[serde(default)]
    pub from_time: Option<Timestamp>,
    /// Only what was sent before this time.
    #[serde(default)]
    pub until_time: Option<Timestamp>,
    /// `rank`: the best first, on one page; `newest`: the newest first, page by page.
    #[serde(default)]
    pub order: Ranking,
    /// How many at most.
    #[serde(default)]
    pub limit: Limit,
    /// The `next` of the page before; with `order` `newest` only.
    #[serde(default)]
    pub after: After,
}

/// A message that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Hit {
    /// The message's head.
    #[serde(flatten)]
    pub message: Message,
    /// A line of it around what was found; somebody else's words.
    pub snippet: String,
}

impl Query for Search {
    const NAME: &'static str = "search";
    const WHO: &'static [Party] = &[Party::Itself, Party::Operator];
    type Answer = Page<Hit>;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Page<Hit>, Error> {
        let query =
            search::Query::parse(&self.query).map_err(|rule| Error::invalid("query", rule))?;
        let filter = self.filter(actor, snapshot, &query)?;
        let found = snapshot.search(&query, &filter)?;
        let mut hits = Vec::new();
        for id in found {
            if let Some(message) = table::by_id(snapshot, MessageId::new(id))? {
                hits.push(hit(&query, table::without_revision(actor, message)));
            }
        }
        let mut page = Page::cut(hits, self.limit, |hit| hit.message.id.get());
        if self.order == Ranking::Rank {
            page.next = None;
        }
        Ok(page)
    }
}

impl Search {
    fn filter(
        &self,
        actor: &Actor,
        snapshot: &mut Snapshot<'_>,
        query: &search::Query,
    ) -> Result<SearchFilter, Error> {
        let project = self.project.as_ref();
        let party: Option<Owner> = match (&self.agent, actor) {
            (None, Actor::Operator { .. }) => None,
            (named, _) => Some(whose(snapshot, actor, project, named.as_ref())?),
        };
        let from = match (&self.from, &query.from) {
            (Some(_), Some(_)) => return Err(Error::invalid("from", "must be given once")),
            (Some(from), None) => Some(from.clone()),
            (None, Some(name)) if name == "operator" => Some(BoxRef::Operator),
            (None, Some(name)) => {
                let name = AgentName::parse(name).map_err(|rule| Error::invalid("query", rule))?;
                Some(BoxRef::Agent(AgentRef::Name(name)))
            }
            (None, None) => None,
        };
        let from = match from {
            Some(from) => Some(sender(snapshot, actor, project, &from)?),
            None => None,
        };
        let within = match (project, actor.project()) {
            (Some(_), None) => Some(project_table::resolve(snapshot, actor, project)?.id),
            _ => None,
        };
        Ok(SearchFilter {
            project: within.map(comity_domain::ProjectId::get),
            party: party.map(table::box_of),
            from: from.map(table::box_of),
            thread: self.thread.map(MessageId::get),
            from_time: self.from_time.map_or(i64::MIN, Timestamp::micros),
            until_time: self.until_time.map_or(i64::MAX, Timestamp::micros),
            ranking: self.order,
            before: match (self.order, self.after.get()) {
                (Ranking::Rank, _) | (_, 0) => i64::MAX,
                (Ranking::Newest, after) => after,
            },
            limit: self.limit.and_one(),
        })
    }
}

fn hit(query: &search::Query, mut message: Message) -> Hit {
    let body = message.body.take().unwrap_or_default();
    Hit {
        snippet: snippet(&body, query, SNIPPET_CHARS_MAX),
        message,
    }
}
