//! What a piece of the log looks like as files.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use comity_domain::token::to_hex;
use comity_domain::{
    AgentId, Delivery, LeaseEnd, LeaseTime, ProjectId, ReservationId, Seq, Sha256Hex, Timestamp,
};
use comity_kernel::agent::event::Profile;
use comity_kernel::archive::Batch;
use comity_kernel::archive::batch::{GrantedLease, Person, ThreadPage};
use comity_kernel::log::{Event, Recorded};
use comity_kernel::mail::event::MessageSent;
use comity_kernel::reservation::event::{Ended, FilesReserved, LockAcquired};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::front::{Carried, Letter};
use super::place;

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
    for page in &batch.threads {
        let path = place::thread(slug(batch, page.project), page.id);
        let last = last_of_thread(batch, page);
        let content = Content::Bytes(thread(batch, page).into_bytes());
        files.insert(
            path.clone(),
            File {
                seq: last,
                path,
                content,
            },
        );
    }
    files.into_values().collect()
}

/// Returns the event that made a thread grow last.
fn last_of_thread(batch: &Batch, page: &ThreadPage) -> Seq {
    let sent = batch.events.iter().zip(&batch.read).rev();
    let mut of_thread = sent.filter(
        |(_, event)| matches!(event, Some(Event::MessageSent(sent)) if sent.thread == page.id),
    );
    of_thread
        .next()
        .map_or(Seq::ZERO, |(recorded, _)| recorded.seq)
}

#[expect(
    clippy::unnested_or_patterns,
    reason = "the kinds of work are listed in one place"
)]
fn rendered(batch: &Batch, recorded: &Recorded, event: &Event) -> Vec<(String, Content)> {
    match event {
        Event::MessageSent(sent) => message(batch, recorded, sent),
        Event::AgentRegistered(one) => {
            vec![agent(batch, one.id, &one.profile, None, None)]
        }
        Event::AgentUpdated(one) => vec![agent(batch, one.id, &one.profile, None, None)],
        Event::AgentRetired(one) => match batch.retired.get(&one.id) {
            Some(last) => {
                let reason = one.reason.as_deref();
                vec![agent(
                    batch,
                    one.id,
                    &last.profile,
                    Some(recorded.at),
                    reason,
                )]
            }
            None => Vec::new(),
        },
        Event::FilesReserved(granted) => reserved(batch, recorded, granted),
        Event::LockAcquired(granted) => vec![locked(batch, recorded, granted)],
        Event::LeaseRenewed(renewed) => lease_as(batch, renewed.id, |lease| Shown {
            expires: renewed.expires,
            ..Shown::of(lease)
        }),
        Event::LeaseReleased(ended) => end(batch, recorded, &ended.0, LeaseEnd::Released, None),
        Event::LeaseForced(forced) => end(
            batch,
            recorded,
            &forced.ended,
            LeaseEnd::Forced,
            Some(&forced.reason),
        ),
        Event::LeaseRetired(ended) => end(batch, recorded, &ended.0, LeaseEnd::Retired, None),
        Event::LeaseExpired(ended) => end(batch, recorded, &ended.0, LeaseEnd::Expired, None),
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
        | Event::EpochBegun(_)
        | comity_kernel::work_event!() => Vec::new(),
    }
}

fn slug(batch: &Batch, project: ProjectId) -> &str {
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

fn message(batch: &Batch, recorded: &Recorded, sent: &MessageSent) -> Vec<(String, Content)> {
    let named = |delivery: Delivery| {
        let those = sent
            .recipients
            .iter()
            .filter(|one| one.delivery == delivery);
        those
            .map(|one| name(batch, sent.project, one.agent))
            .collect()
    };
    let carried = |one: &comity_kernel::mail::event::Attached| Carried {
        path: place::attachment(&one.sha256),
        name: one.name.clone(),
        bytes: one.bytes,
    };
    let project = slug(batch, sent.project);
    let letter = Letter {
        id: sent.id,
        seq: recorded.seq,
        at: recorded.at,
        project: project.to_owned(),
        thread: sent.thread,
        reply_to: sent.reply_to,
        from: name(batch, sent.project, sent.from),
        to: named(Delivery::To),
        cc: named(Delivery::Cc),
        bcc: named(Delivery::Bcc),
        subject: sent.subject.clone(),
        importance: sent.importance,
        ack_required: sent.ack_required,
        topic: sent.topic.clone(),
        attachments: sent.attachments.iter().map(carried).collect(),
        body_sha256: to_hex(&Sha256::digest(&sent.body)),
        body_bytes: sent.body.len(),
        body: sent.body.clone(),
    };
    let path = place::message(project, sent.id, recorded.at, &sent.subject);
    let content = match letter.render() {
        Ok(text) => Content::Bytes(text.into_bytes()),
        Err(error) => Content::Unrendered(error.to_string()),
    };
    let blobs = sent.attachments.iter();
    let blobs = blobs.map(|one| (place::attachment(&one.sha256), Content::Blob(one.sha256)));
    [(path, content)].into_iter().chain(blobs).collect()
}

fn agent(
    batch: &Batch,
    id: AgentId,
    profile: &Profile,
    retired_at: Option<Timestamp>,
    reason: Option<&str>,
) -> (String, Content) {
    let person = batch.people.get(&id);
    let (name, project) = person.map_or(("unknown", "unknown"), |person| {
        (person.name.as_str(), slug(batch, person.project))
    });
    let shown = json!({
        "id": id,
        "name": name,
        "project": project,
        "profile": profile,
        "created_at": person.map(|person| person.created_at),
        "retired_at": retired_at,
        "retired_because": reason,
    });
    (place::agent(project, id, name), pretty(&shown))
}

/// A lease as its file shows it.
struct Shown<'a> {
    lease: &'a GrantedLease,
    expires: LeaseTime,
    ended: Option<(LeaseEnd, Timestamp)>,
    because: Option<&'a str>,
}

impl<'a> Shown<'a> {
    fn of(lease: &'a GrantedLease) -> Self {
        Self {
            lease,
            expires: lease.expires,
            ended: None,
            because: None,
        }
    }
}

fn reserved(batch: &Batch, recorded: &Recorded, granted: &FilesReserved) -> Vec<(String, Content)> {
    let one = |lease: &comity_kernel::reservation::event::Granted| {
        let held = GrantedLease {
            is_lock: false,
            project: granted.project,
            agent: Some(granted.agent),
            pattern: lease.pattern.to_string(),
            exclusive: granted.mode.is_exclusive(),
            reason: granted.reason.clone(),
            fence: recorded.seq,
            created_at: recorded.at,
            created: granted.granted,
            expires: granted.expires,
        };
        lease_file(batch, lease.id, &Shown::of(&held))
    };
    granted.reservations.iter().map(one).collect()
}

fn locked(batch: &Batch, recorded: &Recorded, granted: &LockAcquired) -> (String, Content) {
    let held = GrantedLease {
        is_lock: true,
        project: granted.project,
        agent: granted.agent,
        pattern: granted.name.clone(),
        exclusive: true,
        reason: granted.reason.clone(),
        fence: recorded.seq,
        created_at: recorded.at,
        created: granted.granted,
        expires: granted.expires,
    };
    lease_file(batch, granted.id, &Shown::of(&held))
}

fn end(
    batch: &Batch,
    recorded: &Recorded,
    ended: &Ended,
    how: LeaseEnd,
    because: Option<&str>,
) -> Vec<(String, Content)> {
    let Some(lease) = batch.leases.get(&ended.id) else {
        return Vec::new();
    };
    let shown = Shown {
        ended: Some((how, recorded.at)),
        because,
        ..Shown::of(lease)
    };
    vec![lease_file(batch, ended.id, &shown)]
}

fn lease_as<'a>(
    batch: &'a Batch,
    id: ReservationId,
    show: impl FnOnce(&'a GrantedLease) -> Shown<'a>,
) -> Vec<(String, Content)> {
    let lease = batch.leases.get(&id);
    let file = lease.map(|lease| lease_file(batch, id, &show(lease)));
    file.into_iter().collect()
}

fn lease_file(batch: &Batch, id: ReservationId, shown: &Shown<'_>) -> (String, Content) {
    let lease = shown.lease;
    let project = slug(batch, lease.project);
    let span_us = shown.expires.micros() - lease.created.micros();
    let expires_at = Timestamp::from_micros(lease.created_at.micros().saturating_add(span_us));
    let what = if lease.is_lock {
        "lock"
    } else {
        "path_pattern"
    };
    let file = json!({
        "id": id,
        "project": project,
        what: lease.pattern,
        "held_by": name(batch, lease.project, lease.agent),
        "exclusive": lease.exclusive,
        "reason": lease.reason,
        "fence": lease.fence,
        "created_at": lease.created_at,
        "expires_at": expires_at,
        "ended": shown.ended.map(|(how, _)| how),
        "ended_at": shown.ended.map(|(_, at)| at),
        "ended_because": shown.because,
    });
    (place::reservation(project, id), pretty(&file))
}

fn pretty(value: &Value) -> Content {
    match serde_json::to_string_pretty(value) {
        Ok(text) => Content::Bytes((text + "\n").into_bytes()),
        Err(error) => Content::Unrendered(error.to_string()),
    }
}

/// Writes the page of a thread: its head, and the last of its messages.
///
/// What others wrote stands in quotes, so that nothing in it passes for the page's own.
fn thread(batch: &Batch, page: &ThreadPage) -> String {
    let mut text = format!("# {}\n\n", one_line(&page.subject));
    let shown = i64::try_from(page.last.len()).unwrap_or(i64::MAX);
    // Writing to a string cannot fail.
    let _ = writeln!(text, "Thread {}, {} messages.", page.id, page.messages);
    if page.messages > shown {
        let _ = writeln!(
            text,
            "The last {shown} are shown; all are under `messages/`."
        );
    }
    for message in &page.last {
        let from = name(batch, page.project, message.from);
        let _ = writeln!(text, "\n## {} from {from}, {}\n", message.id, message.at);
        if message.subject != page.subject {
            let _ = writeln!(text, "**{}**\n", one_line(&message.subject));
        }
        for line in message.body.lines() {
            let _ = writeln!(text, "{}", format!("> {line}").trim_end());
        }
        let rest = message.chars - i64::try_from(message.body.chars().count()).unwrap_or(i64::MAX);
        if rest > 0 {
            let _ = writeln!(text, "\n({rest} more characters are in the message itself)");
        }
    }
    text
}

/// Keeps a text on its line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
