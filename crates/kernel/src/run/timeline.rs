//! Tells what happened to a run, decision by decision.

use comity_domain::{RunId, Seq, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::table;
use super::tell::tell;
use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::event::pruned;
use crate::event::tell::who;
use crate::log::{Event, Recorded, table as log_table};
use crate::page::{After, Limit, Page};
use crate::query::Query;
use crate::tx::{Read, Snapshot};

/// Tells what happened to a run, oldest first: every decision with its evidence.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunTimeline {
    /// The run's number.
    pub run: RunId,
    /// How many at most.
    #[serde(default)]
    pub limit: Limit,
    /// The `next` of the page before.
    #[serde(default)]
    pub after: After,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Happened {
    /// Its place in the log.
    pub seq: Seq,
    /// When.
    pub at: Timestamp,
    /// The kind of event.
    pub kind: String,
    /// Who did it, as the log names them.
    pub actor: String,
    /// The same by name: an agent's, `operator` or `system`.
    pub who: String,
    /// The same in a sentence.
    pub text: String,
    /// All of it.
    pub payload: Value,
}

impl Query for RunTimeline {
    const NAME: &'static str = "run_timeline";
    const WHO: &'static [Party] = &[Party::Operator, Party::Agent, Party::Observer];
    type Answer = Page<Happened>;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Page<Happened>, Error> {
        let run = table::visible(snapshot, actor, self.run)?;
        let until = snapshot.head();
        pruned::must_be_left_of_run(snapshot, run.id, Seq::new(self.after.get()))?;
        let read = |after: i64, limit: i64| {
            let since = Seq::new(after);
            let page = log_table::of_run(snapshot, run.id, since, until, limit)?;
            let one = |recorded| happened(snapshot, recorded);
            page.into_iter().map(one).collect()
        };
        let bytes = |one: &Happened| one.payload.to_string().len();
        let key = |one: &Happened| one.seq.get();
        Page::gather(self.limit, self.after.get(), read, key, bytes)
    }
}

fn happened(read: &mut impl Read, recorded: Recorded) -> Result<Happened, Error> {
    let payload = recorded.payload.as_deref().unwrap_or("null");
    let event = Event::read(&recorded.kind, recorded.v, payload).and_then(Result::ok);
    Ok(Happened {
        text: event.as_ref().map(tell).unwrap_or_default(),
        payload: serde_json::from_str(payload)?,
        seq: recorded.seq,
        at: recorded.at,
        kind: recorded.kind,
        who: who(read, &recorded.actor)?,
        actor: recorded.actor,
    })
}
