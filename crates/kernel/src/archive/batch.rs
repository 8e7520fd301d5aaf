//! What there is to archive: a piece of the log, and everything its files are rendered from.
//!
//! A rendered file is a function of the log up to an event, whatever has happened since: rows are
//! read only as far as they never change, or have changed for the last time.

use std::collections::{BTreeMap, BTreeSet};

use comity_domain::limits::LOG_PAGE;
use comity_domain::{
    AgentId, DiscoveryId, DispatchId, LeaseTime, MessageId, ProjectId, ReservationId, RunId, Seq,
    Sha256Hex, Slug, Timestamp,
};

use super::found::Found;
use super::handed_out::HandedOut;
use super::run_page::RunPage;
use crate::actor::{Actor, Party};
use crate::agent::{Agent, table as agent_table};
use crate::epoch::event::EpochBegun;
use crate::error::Error;
use crate::event::pruned;
use crate::log::{self, Event, Recorded};
use crate::params;
use crate::query::Query;
use crate::redaction::remnants_within;
use crate::store::{Row, StoreError};
use crate::tx::{Read, Snapshot};
use crate::{discovery_event, work_event};

/// Messages that a thread's page shows.
pub const THREAD_MESSAGES_SHOWN: i64 = 200;

/// Asks for the next piece of the log to archive.
#[derive(Clone, Copy, Debug)]
pub struct ArchiveBatch {
    /// Where the archive stands.
    pub after: Seq,
    /// The last event that counts.
    pub through: Seq,
    /// How many events at most.
    pub events_max: i64,
    /// How many bytes of payload at most, unless the first event alone has more.
    pub bytes_max: i64,
}

/// A piece of the log, and what its files are rendered from.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// The events.
    pub events: Vec<Recorded>,
    /// The last event that was committed when they were read.
    pub read_at: Seq,
    /// What is left of those that were redacted, as the log knows.
    pub redacted: BTreeMap<Seq, String>,
    /// The same, read; what this program does not know has no files.
    pub read: Vec<Option<Event>>,
    /// Slugs by project.
    pub projects: BTreeMap<ProjectId, Slug>,
    /// Names of agents, and their projects.
    pub people: BTreeMap<AgentId, Person>,
    /// Agents that retire here, as they were at last.
    pub retired: BTreeMap<AgentId, Agent>,
    /// Leases that are renewed or end here, as far as they never change.
    pub leases: BTreeMap<ReservationId, GrantedLease>,
    /// Threads that grow here, as they are at the end of the piece.
    pub threads: Vec<ThreadPage>,
    /// Runs to which something happens here, as they are at the end of the piece.
    pub runs: Vec<RunPage>,
    /// Dispatches that are settled here.
    pub settled: BTreeMap<DispatchId, HandedOut>,
    /// Discoveries that are submitted, scored or settled here.
    pub found: BTreeMap<DiscoveryId, Found>,
}

/// An agent as files name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// Its name.
    pub name: String,
    /// Its project.
    pub project: ProjectId,
    /// When it was registered.
    pub created_at: Timestamp,
}

/// What of a lease never changes, and its end once it has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantedLease {
    /// Whether it is a named lock.
    pub is_lock: bool,
    /// The project.
    pub project: ProjectId,
    /// The holder; nobody is the operator.
    pub agent: Option<AgentId>,
    /// What it covers, or its name.
    pub pattern: String,
    /// Whether nobody else may hold the same.
    pub exclusive: bool,
    /// Why it is held.
    pub reason: String,
    /// Its fence.
    pub fence: Seq,
    /// When it was granted.
    pub created_at: Timestamp,
    /// When it was granted, on the lease clock.
    pub created: LeaseTime,
    /// Until when it lasted at last, on the lease clock; it may still change while it is open.
    pub expires: LeaseTime,
}

/// A thread as its page shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadPage {
    /// The number of its first message.
    pub id: MessageId,
    /// Its project: that of its first message.
    pub project: ProjectId,
    /// The subject of its first message.
    pub subject: String,
    /// How many messages it has.
    pub messages: i64,
    /// The last of them, in order.
    pub last: Vec<ThreadMessage>,
}

/// A message as a thread's page shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadMessage {
    /// Its number.
    pub id: MessageId,
    /// The sender; nobody is the operator.
    pub from: Option<AgentId>,
    /// Its subject.
    pub subject: String,
    /// The first 4,000 characters of its body.
    pub body: String,
    /// How many characters its body has.
    pub chars: i64,
    /// When it was sent.
    pub at: Timestamp,
}

impl Query for ArchiveBatch {
    const NAME: &'static str = "archive_batch";
    const WHO: &'static [Party] = &[];
    type Answer = Batch;

    fn run(&self, _: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Batch, Error> {
        // What only the archive has cannot be archived anew.
        pruned::must_go_on(snapshot, self.after)?;
        let fitting = log::table::fitting(snapshot, self.after, self.events_max, self.bytes_max)?;
        let mut events = log::table::page(snapshot, self.after, fitting)?;
        // A piece is of one epoch, so that there is no gap in it.
        let piece = events.iter().enumerate().take_while(|(place, event)| {
            event.seq <= self.through && (*place == 0 || event.kind != EpochBegun::KIND)
        });
        events.truncate(piece.count());
        let read = events.iter().map(read).collect();
        let redacted = match (events.first(), events.last()) {
            (Some(first), Some(last)) => remnants_within(snapshot, first.seq, last.seq)?,
            _ => BTreeMap::new(),
        };
        let mut batch = Batch {
            events,
            read_at: snapshot.head(),
            redacted,
            read,
            ..Batch::default()
        };
        batch.gather(snapshot)?;
        Ok(batch)
    }
}

/// Asks for the next page of the log, without what its files are rendered from.
#[derive(Clone, Copy, Debug)]
pub struct LogPage {
    /// The event before it.
    pub after: Seq,
}

impl Query for LogPage {
    const NAME: &'static str = "log_page";
    const WHO: &'static [Party] = &[];
    type Answer = Vec<Recorded>;

    fn run(&self, _: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Vec<Recorded>, Error> {
        pruned::must_go_on(snapshot, self.after)?;
        Ok(log::table::bounded_page(snapshot, self.after, LOG_PAGE)?)
    }
}

/// Reads an event; nothing if this program does not know it.
pub(super) fn read(recorded: &Recorded) -> Option<Event> {
    let payload = recorded.payload.as_deref()?;
    Event::read(&recorded.kind, recorded.v, payload)?.ok()
}

/// What a piece of the log speaks of.
#[derive(Default)]
struct Mentioned {
    agents: BTreeSet<AgentId>,
    retired: BTreeSet<AgentId>,
    leases: BTreeSet<ReservationId>,
    /// Threads, and the last message of each.
    threads: BTreeMap<MessageId, MessageId>,
    settled: BTreeSet<DispatchId>,
    found: BTreeSet<DiscoveryId>,
}

impl Mentioned {
    fn in_events<'a>(events: impl Iterator<Item = &'a Event>) -> Self {
        let mut mentioned = Self::default();
        for event in events {
            mentioned.add(event);
        }
        mentioned
    }

    fn add(&mut self, event: &Event) {
        match event {
            Event::MessageSent(sent) => {
                self.agents.extend(sent.from);
                self.agents
                    .extend(sent.recipients.iter().filter_map(|one| one.agent));
                self.threads.insert(sent.thread, sent.id);
            }
            Event::AgentRegistered(one) => {
                self.agents.insert(one.id);
            }
            Event::AgentUpdated(one) => {
                self.agents.insert(one.id);
            }
            Event::AgentRetired(one) => {
                self.agents.insert(one.id);
                self.retired.insert(one.id);
            }
            Event::FilesReserved(one) => {
                self.agents.insert(one.agent);
            }
            Event::LockAcquired(one) => self.agents.extend(one.agent),
            Event::LeaseRenewed(one) => {
                self.leases.insert(one.id);
            }
            Event::LeaseReleased(one) => {
                self.leases.insert(one.0.id);
            }
            Event::LeaseForced(one) => {
                self.leases.insert(one.ended.id);
            }
            Event::LeaseRetired(one) => {
                self.leases.insert(one.0.id);
            }
            Event::LeaseExpired(one) => {
                self.leases.insert(one.0.id);
            }
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
            | Event::StateSaved(_)
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
            | Event::EpochBegun(_) => {}
            work_event!() => self.add_work(event),
            discovery_event!() => self.add_discovery(event),
        }
    }

    /// Adds discoveries that are written anew.
    fn add_discovery(&mut self, event: &Event) {
        self.found.extend(match event {
            Event::DiscoverySubmitted(one) => Some(one.id),
            Event::DiscoveryScored(one) => Some(one.which.id),
            Event::DiscoveryPromoted(one) => Some(one.which.id),
            Event::DiscoveryDismissed(one) => Some(one.which.id),
            _ => None,
        });
    }

    /// Adds what happens to dispatches; what happens to runs is on their pages.
    fn add_work(&mut self, event: &Event) {
        match event {
            Event::DispatchCreated(one) => self.agents.extend(one.by),
            Event::DispatchFinished(one) => {
                self.settled.insert(one.which.id);
            }
            Event::DispatchCancelled(one) => {
                self.settled.insert(one.which.id);
            }
            Event::DispatchTimedOut(one) => {
                self.settled.insert(one.which.id);
            }
            _ => {}
        }
    }
}

impl Batch {
    /// Reads what the files of the events are rendered from.
    fn gather(&mut self, read: &mut impl Read) -> Result<(), Error> {
        let mut mentioned = Mentioned::in_events(self.read.iter().flatten());
        for (thread, last) in &mentioned.threads {
            self.threads.extend(thread_page(read, *thread, *last)?);
        }
        let writers = self.threads.iter().flat_map(|page| &page.last);
        mentioned.agents.extend(writers.filter_map(|one| one.from));
        for id in &mentioned.leases {
            if let Some(lease) = granted(read, *id)? {
                mentioned.agents.extend(lease.agent);
                self.leases.insert(*id, lease);
            }
        }
        for id in &mentioned.settled {
            if let Some(dispatch) = HandedOut::settled(read, *id)? {
                mentioned.agents.extend(dispatch.by);
                self.settled.insert(*id, dispatch);
            }
        }
        for id in &mentioned.found {
            if let Some(found) = Found::read(read, *id)? {
                mentioned.agents.extend(found.by);
                self.found.insert(*id, found);
            }
        }
        for (run, through) in self.steps_of_runs() {
            self.runs.extend(RunPage::read(read, run, through)?);
        }
        let named = self.runs.iter().flat_map(RunPage::agents);
        mentioned.agents.extend(named);
        for id in &mentioned.agents {
            if let Some(person) = person(read, *id)? {
                self.people.insert(*id, person);
            }
        }
        for id in &mentioned.retired {
            self.retired
                .extend(agent_table::by_id(read, *id)?.map(|agent| (*id, agent)));
        }
        let events = self.events.iter().filter_map(|event| event.project);
        let people = self.people.values().map(|person| person.project);
        let threads = self.threads.iter().map(|page| page.project);
        let runs = self.runs.iter().map(|page| page.run.project);
        let pages = threads.chain(runs);
        let projects: BTreeSet<_> = events.chain(people).chain(pages).collect();
        for id in projects {
            if let Some(slug) = slug(read, id)? {
                self.projects.insert(id, slug);
            }
        }
        Ok(())
    }

    /// Returns the runs to which something happens, and the last of it for each.
    fn steps_of_runs(&self) -> BTreeMap<RunId, Seq> {
        let steps = self.events.iter();
        steps
            .filter_map(|event| Some((RunId::new(event.run?), event.seq)))
            .collect()
    }
}

fn slug(read: &mut impl Read, id: ProjectId) -> Result<Option<Slug>, StoreError> {
    read.row(
        "select slug from project where id = ?1",
        params![id],
        |row| Ok(Slug::from_stored(row.take()?)),
    )
}

fn person(read: &mut impl Read, id: AgentId) -> Result<Option<Person>, StoreError> {
    read.row(
        "select name, project_id, created_at from agent where id = ?1",
        params![id],
        |row| {
            Ok(Person {
                name: row.take()?,
                project: row.take()?,
                created_at: row.take()?,
            })
        },
    )
}

fn granted(read: &mut impl Read, id: ReservationId) -> Result<Option<GrantedLease>, StoreError> {
    read.row(
        "select kind, project_id, agent_id, pattern, exclusive, reason, fence, created_at,
            created_lease_us, expires_lease_us
         from reservation where id = ?1",
        params![id],
        |row| {
            Ok(GrantedLease {
                is_lock: row.take::<String>()? == "lock",
                project: row.take()?,
                agent: row.take()?,
                pattern: row.take()?,
                exclusive: row.take()?,
                reason: row.take()?,
                fence: row.take()?,
                created_at: row.take()?,
                created: row.take()?,
                expires: row.take()?,
            })
        },
    )
}

/// Reads a thread as it was when this message was its last.
fn thread_page(
    read: &mut impl Read,
    thread: MessageId,
    last: MessageId,
) -> Result<Option<ThreadPage>, StoreError> {
    let first = read.row(
        "select project_id, subject from message where id = ?1",
        params![thread],
        |row| Ok((row.take()?, row.take()?)),
    )?;
    let Some((project, subject)) = first else {
        return Ok(None);
    };
    let messages = read.one(
        "select count(*) from message where thread_id = ?1 and id <= ?2",
        params![thread, last],
        Row::take,
    )?;
    let mut shown = read.rows(
        "select id, sender_id, subject, substr(body, 1, 4000), cast(length(body) as bigint),
            created_at
         from message
         where thread_id = ?1 and id <= ?2 order by id desc limit cast(?3 as bigint)",
        params![thread, last, THREAD_MESSAGES_SHOWN],
        |row| {
            Ok(ThreadMessage {
                id: row.take()?,
                from: row.take()?,
                subject: row.take()?,
                body: row.take()?,
                chars: row.take()?,
                at: row.take()?,
            })
        },
    )?;
    shown.reverse();
    Ok(Some(ThreadPage {
        id: thread,
        project,
        subject,
        messages,
        last: shown,
    }))
}

/// Asks for bytes by their hash, whoever put them in.
#[derive(Clone, Copy, Debug)]
pub struct Blob {
    /// The hash.
    pub sha256: Sha256Hex,
}

impl Query for Blob {
    const NAME: &'static str = "blob";
    const WHO: &'static [Party] = &[];
    type Answer = Option<Vec<u8>>;

    fn run(&self, _: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Option<Vec<u8>>, Error> {
        Ok(snapshot.row(
            "select bytes from blob where sha256 = ?1",
            params![self.sha256.bytes()],
            Row::take,
        )?)
    }
}
