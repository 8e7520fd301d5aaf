//! Reads a stream.

use comity_domain::PlainName;
use comity_domain::suggest::nearest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::table::{self, Stream, StreamEvent};
use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::event::pruned;
use crate::page::{After, Limit, Page};
use crate::project::table::{self as project_table, ProjectRef};
use crate::query::Query;
use crate::tx::Snapshot;

/// Reads the events of a stream, oldest first.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadStream {
    /// The project's key or slug; an agent's own unless given.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// The stream's name.
    pub stream: PlainName,
    /// How many at most.
    #[serde(default)]
    pub limit: Limit,
    /// The `next` of the page before: a version of the stream, exclusive.
    #[serde(default)]
    pub after: After,
}

/// A stream and a page of its events.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StreamPage {
    /// The stream.
    pub stream: Stream,
    /// Its events, in order.
    pub items: Vec<StreamEvent>,
    /// What to pass as `after` for the next page; null at the end.
    pub next: Option<String>,
}

impl Query for ReadStream {
    const NAME: &'static str = "read_stream";
    const WHO: &'static [Party] = &[Party::Agent, Party::Operator];
    type Answer = StreamPage;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<StreamPage, Error> {
        let project = project_table::resolve(snapshot, actor, self.project.as_ref())?;
        let Some(stream) = table::by_name(snapshot, project.id, &self.stream)? else {
            let names = table::names(snapshot, project.id)?;
            return Err(Error::NotFound {
                kind: "stream",
                name: self.stream.to_string(),
                near: nearest(&self.stream, names.iter().map(String::as_str)).map(str::to_owned),
            });
        };
        if let Some(first) = table::next_seq(snapshot, stream.id, self.after.get())? {
            pruned::must_be_left(snapshot, first)?;
        }
        let read = |after: i64, limit: i64| table::events(snapshot, stream.id, after, limit);
        let key = |event: &StreamEvent| event.version;
        let bytes =
            |event: &StreamEvent| serde_json::to_string(&event.payload).map_or(0, |it| it.len());
        let page = Page::gather(self.limit, self.after.get(), read, key, bytes)?;
        Ok(StreamPage {
            stream,
            items: page.items,
            next: page.next,
        })
    }
}
