//! Lists events of the log.

use std::collections::{BTreeMap, BTreeSet};

use comity_domain::{ProjectId, RunId, Seq, Span, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::entry::Entry;
use super::filter::{About, ActorRef, Wanted};
use super::look::{Looked, look};
use super::sight::{Sight, View};
use super::tell::{tell, who};
use super::watch::Watch;
use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::page::{After, Limit};
use crate::project::ProjectRef;
use crate::query::{Query, Waiting};
use crate::tx::{Read, Snapshot};

/// Lists what happened, oldest first: every event that you may see and that matches.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Events {
    /// The last event seen: a sequence number, exclusive.
    #[serde(default)]
    pub since: Option<Seq>,
    /// Only events of this project: its key or slug.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// Only events of this run.
    #[serde(default)]
    pub run: Option<RunId>,
    /// Only events of these kinds; `custom.*` means all of the callers' own.
    #[serde(default)]
    pub kinds: BTreeSet<String>,
    /// Only events about this: `{"type":"run","id":7}` or `run:7`.
    #[serde(default)]
    pub subject: Option<About>,
    /// Only what they did: `operator`, `system`, `agent:7`, or an agent's name or number.
    #[serde(default)]
    pub actor: Option<ActorRef>,
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

/// A page of events.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EventPage {
    /// The events, in order.
    pub items: Vec<SeenEvent>,
    /// What to pass as `after` for the next page; null at the end. Where few events match, a page
    /// may be empty and yet have a next one.
    pub next: Option<String>,
    /// How far the page goes in the log: what to pass as `since` to follow on.
    pub through: Seq,
}

/// An event as its reader sees it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SeenEvent {
    /// Its place in the log.
    pub seq: Seq,
    /// When it happened.
    pub at: Timestamp,
    /// The version of its payload.
    pub v: i64,
    /// Its kind.
    pub kind: String,
    /// The number of the project it belongs to.
    pub project: Option<ProjectId>,
    /// Who did it, as the log names them.
    pub actor: String,
    /// What it is about.
    pub subject: SeenSubject,
    /// The run it belongs to.
    pub run: Option<i64>,
    /// The caller's own id.
    pub correlation: Option<String>,
    /// The SHA-256 of its whole payload; null for those who see a part of it.
    pub payload_sha256: Option<String>,
    /// What happened, as far as the caller may know; null once redacted.
    pub payload: Option<Value>,
    /// Who did it by name: an agent's, `operator` or `system`.
    pub who: String,
    /// The same in a sentence.
    pub text: String,
}

/// What an event is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SeenSubject {
    /// The kind of entity.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its number.
    pub id: i64,
}

impl Query for Events {
    const NAME: &'static str = "events";
    const WHO: &'static [Party] = &[Party::Operator, Party::Agent, Party::Observer];
    type Answer = EventPage;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<EventPage, Error> {
        let since = self.since.unwrap_or_default();
        if since < Seq::ZERO {
            return Err(Error::invalid("since", "must be a sequence number"));
        }
        let filter = self.wanted().resolve(snapshot, actor)?;
        let watch = Watch::new(Sight::of(actor), filter);
        let since = since.max(Seq::new(self.after.get()));
        let looked = look(snapshot, &watch, since, self.limit.get())?;
        EventPage::of(snapshot, &looked)
    }
}

impl Waiting for Events {
    fn patience(&self) -> Option<Span> {
        self.wait
    }

    fn is_something(answer: &EventPage) -> bool {
        !answer.items.is_empty() || answer.next.is_some()
    }
}

impl Events {
    fn wanted(&self) -> Wanted {
        Wanted {
            project: self.project.clone(),
            run: self.run,
            kinds: self.kinds.clone(),
            subject: self.subject.clone(),
            actor: self.actor.clone(),
        }
    }
}

impl EventPage {
    /// Shows what was seen.
    pub(crate) fn of(read: &mut impl Read, looked: &Looked) -> Result<Self, Error> {
        let mut names = BTreeMap::new();
        let mut items = Vec::with_capacity(looked.seen.len());
        for (entry, view) in &looked.seen {
            let actor = entry.actor();
            let name = match names.get(actor) {
                Some(name) => String::clone(name),
                None => names.entry(actor).or_insert(who(read, actor)?).clone(),
            };
            items.push(SeenEvent::new(entry, *view, name)?);
        }
        Ok(Self {
            items,
            next: looked.more.then(|| looked.through.to_string()),
            through: looked.through,
        })
    }
}

impl SeenEvent {
    fn new(entry: &Entry, view: View, who: String) -> Result<Self, Error> {
        let shown = entry.show(view)?;
        let text = entry.event().as_ref().map(tell).unwrap_or_default();
        let (kind, subject) = (shown.kind, shown.subject);
        let text = match text {
            text if text.is_empty() => format!("{kind}, {} {}", subject.kind, subject.id),
            text => text,
        };
        Ok(Self {
            seq: shown.seq,
            at: shown.at,
            v: shown.v,
            kind: kind.to_owned(),
            project: shown.project,
            actor: shown.actor.to_owned(),
            subject: SeenSubject {
                kind: subject.kind.to_owned(),
                id: subject.id,
            },
            run: shown.run,
            correlation: shown.correlation.map(str::to_owned),
            payload_sha256: shown.payload_sha256,
            payload: shown.payload,
            who,
            text,
        })
    }
}
