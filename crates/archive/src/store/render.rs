//! What a piece of the log looks like as files.

mod agent;
mod discovery;
mod dispatch;
mod lease;
mod message;
mod run;
mod state;
mod thread;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use comity_domain::{AgentId, LeaseEnd, ProjectId, Seq, Sha256Hex};
use comity_kernel::archive::Batch;
use comity_kernel::archive::batch::Person;
use comity_kernel::log::{Event, Recorded};
use serde_json::Value;

/// A file of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct File {
    /// The event it belongs to.
    pub(super) seq: Seq,
    /// Its path.
    pub(super) path: String,
    /// What is in it.
    pub(super) content: Content,
}

/// What is in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// This.
    Bytes(Vec<u8>),
    /// What the database has under a hash; it is read when it is written.
    Blob(Sha256Hex),
    /// It could not be rendered.
    Unrendered(String),
}

/// Renders the files of a piece of the log; of a path that is written twice the last one counts.
pub(super) fn files(batch: &Batch) -> Vec<File> {
    let mut files: BTreeMap<String, File> = BTreeMap::new();
    for (recorded, event) in batch.events.iter().zip(&batch.read) {
        let Some(event) = event else { continue };
        for (path, content) in rendered(batch, recorded, event) {
            let seq = recorded.seq;
            files.insert(path.clone(), File { seq, path, content });
        }
    }
    let threads = batch.threads.iter().map(|page| thread::file(batch, page));
    let runs = batch.runs.iter().map(|page| run::file(batch, page));
    files.extend(threads.chain(runs).map(|file| (file.path.clone(), file)));
    files.into_values().collect()
}

fn rendered(batch: &Batch, recorded: &Recorded, event: &Event) -> Vec<(String, Content)> {
    let ended = |one, how, because| lease::ended(batch, recorded, one, how, because);
    match event {
        Event::MessageSent(sent) => message::files(batch, recorded, sent),
        Event::AgentRegistered(one) => {
            vec![agent::file(batch, one.id, &one.profile, None, None)]
        }
        Event::AgentUpdated(one) => vec![agent::file(batch, one.id, &one.profile, None, None)],
        Event::AgentRetired(one) => match batch.retired.get(&one.id) {
            Some(last) => {
                let (at, reason) = (Some(recorded.at), one.reason.as_deref());
                vec![agent::file(batch, one.id, &last.profile, at, reason)]
            }
            None => Vec::new(),
        },
        Event::FilesReserved(granted) => lease::reserved(batch, recorded, granted),
        Event::LockAcquired(granted) => vec![lease::locked(batch, recorded, granted)],
        Event::LeaseRenewed(renewed) => lease::renewed(batch, renewed),
        Event::LeaseReleased(one) => ended(&one.0, LeaseEnd::Released, None),
        Event::LeaseForced(one) => ended(&one.ended, LeaseEnd::Forced, Some(&one.reason)),
        Event::LeaseRetired(one) => ended(&one.0, LeaseEnd::Retired, None),
        Event::LeaseExpired(one) => ended(&one.0, LeaseEnd::Expired, None),
        Event::StateSaved(saved) => state::file(saved).into_iter().collect(),
        Event::ProjectCreated(_)
        | Event::ProjectUpdated(_)
        | Event::TokenCreated(_)
        | Event::TokenRevoked(_)
        | Event::MessageRead(_)
        | Event::MessageAcknowledged(_)
        | Event::ContactRequested(_)
        | Event::ContactAnswered(_)
        | Event::ReleaseRequested(_)
        | Event::ReleaseAnswered(_)
        | Event::SentinelClaimed(_)
        | Event::SentinelReset(_)
        | Event::StateDeleted(_)
        | Event::StateExpired(_)
        | Event::StateCleared(_)
        | Event::HookAdded(_)
        | Event::HookRemoved(_)
        | Event::ConsumerRegistered(_)
        | Event::ConsumerReset(_)
        | Event::ConsumerExpired(_)
        | Event::CustomAppended(_)
        | Event::EventRedacted(_)
        | Event::LogPruned(_)
        | Event::EpochBegun(_) => Vec::new(),
        comity_kernel::discovery_event!() => discovery::file(batch, recorded, event)
            .into_iter()
            .collect(),
        comity_kernel::work_event!() => {
            dispatch::file(batch, recorded, event).into_iter().collect()
        }
    }
}

pub(super) fn slug(batch: &Batch, project: ProjectId) -> &str {
    batch.projects.get(&project).map_or("unknown", |slug| slug)
}

/// Names somebody as seen from a project; nobody is the operator.
fn name(batch: &Batch, project: ProjectId, agent: Option<AgentId>) -> String {
    let Some(agent) = agent else {
        return "operator".to_owned();
    };
    match batch.people.get(&agent) {
        Some(Person {
            name, project: own, ..
        }) if *own == project => name.clone(),
        Some(person) => format!("{}@{}", person.name, slug(batch, person.project)),
        None => format!("agent {agent}"),
    }
}

fn pretty(value: &Value) -> Content {
    match serde_json::to_string_pretty(value) {
        Ok(text) => Content::Bytes((text + "\n").into_bytes()),
        Err(error) => Content::Unrendered(error.to_string()),
    }
}

fn text(rendered: serde_json::Result<String>) -> Content {
    match rendered {
        Ok(text) => Content::Bytes(text.into_bytes()),
        Err(error) => Content::Unrendered(error.to_string()),
    }
}

/// Adds a text of somebody's as a quote, so that nothing in it passes for the page's own.
fn push_quoted(page: &mut String, text: &str) {
    // A lone carriage return ends a line of Markdown, too.
    for line in text.lines().flat_map(|line| line.split('\r')) {
        // Writing to a string cannot fail.
        let _ = writeln!(page, "{}", format!("> {line}").trim_end());
    }
}

/// Keeps a text on its line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
