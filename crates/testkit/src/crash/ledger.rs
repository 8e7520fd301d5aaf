//! What a database holds, read after the fact and compared with what was answered.

use std::collections::BTreeMap;
use std::path::Path;

use comity_domain::Seq;
use comity_kernel::actor::Party;
use comity_kernel::agent::ListAgents;
use comity_kernel::doctor::Findings;
use comity_kernel::lock::ListLocks;
use comity_kernel::log::{Recorded, table};
use comity_kernel::mail::Inbox;
use comity_kernel::project::ListProjects;
use comity_kernel::token::ListTokens;
use comity_kernel::tx::{Read as _, Snapshot};
use comity_kernel::{Actor, Error, Kernel, Options, Query, Ticket};
use serde_json::{Value, json};

use super::{Done, KEEPER, PATIENCE, PROJECT};
use crate::kit::request;

/// Waits for an answer, and fails the test rather than wait for ever.
pub fn wait<T>(ticket: Ticket<T>) -> Result<T, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    runtime
        .block_on(async { tokio::time::timeout(PATIENCE, ticket).await })
        .expect("an answer in time")
}

/// Everything a database says of the orders it took.
#[derive(Debug)]
pub struct Ledger {
    /// The places in the log of each order's events, by correlation.
    pub events: BTreeMap<String, Vec<i64>>,
    /// How often each order is found in the lists of agents, projects and tokens, and in the
    /// operator's box.
    pub listed: BTreeMap<String, usize>,
    /// The log's end.
    pub head: i64,
    /// What the doctor found.
    pub findings: Findings,
}

/// What is wrong with a database, order by order; nothing should be.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Acknowledged, but not there or not where the answer said.
    pub lost: Vec<String>,
    /// There more than once.
    pub doubled: Vec<String>,
    /// Refused, and yet there.
    pub haunting: Vec<String>,
}

impl Ledger {
    /// Opens a database that nobody serves and reads it; `scratch` is a directory for a copy.
    pub fn read(options: Options, scratch: &Path) -> Self {
        let kernel = Kernel::open(options).expect("the database opens");
        Self::of(&kernel, scratch)
    }

    /// Reads a database that is served.
    pub fn of(kernel: &Kernel, scratch: &Path) -> Self {
        let log = wait(kernel.query(Actor::OPERATOR, WholeLog)).expect("the log");
        let mut events: BTreeMap<String, Vec<i64>> = BTreeMap::new();
        for (at, event) in log.answer.iter().enumerate() {
            // I1: 1..n, without a gap.
            assert_eq!(
                event.seq.get(),
                i64::try_from(at).unwrap_or(-1) + 1,
                "a gap in the log"
            );
            let order = event.correlation.clone().unwrap_or_default();
            events.entry(order).or_default().push(event.seq.get());
        }
        let head = log.as_of_seq.get();
        assert_eq!(
            usize::try_from(head),
            Ok(log.answer.len()),
            "the head is not the log's end"
        );
        let findings = kernel.doctor(scratch).expect("the doctor can look");
        let mail = delivered(kernel, &events);
        let mut listed = listed(kernel);
        for id in mail {
            *listed.entry(id).or_default() += 1;
        }
        Self {
            events,
            listed,
            head,
            findings,
        }
    }

    /// Tells whether an order left anything.
    pub fn holds(&self, id: &str) -> bool {
        self.events.contains_key(id)
    }

    /// Returns the place of an order's last event, if it is there whole and once.
    pub fn place(&self, id: &str, events: usize) -> Option<i64> {
        let places = self.events.get(id)?;
        let in_a_row = places
            .windows(2)
            .all(|pair| matches!(pair, [a, b] if a + 1 == *b));
        let whole = places.len() == events && in_a_row && self.listed.get(id) == Some(&1);
        places.last().copied().filter(|_| whole)
    }

    /// Compares the answers with what is there (B1, C2).
    pub fn compare(&self, done: &[Done]) -> Verdict {
        let mut verdict = Verdict::default();
        for Done { order, answer } in done {
            let id = order.id.clone();
            let found = self.events.get(&id).map_or(0, Vec::len);
            let listed = self.listed.get(&id).copied().unwrap_or_default();
            match answer {
                Err(_) if found + listed > 0 => verdict.haunting.push(id),
                Err(_) => {}
                Ok(_) if found > order.events || listed > 1 => verdict.doubled.push(id),
                Ok(answer) => {
                    let place = self.place(&id, order.events);
                    if place.is_none() || place != answer.get("seq").and_then(Value::as_i64) {
                        verdict.lost.push(id);
                    }
                }
            }
        }
        verdict
    }
}

/// Counts the orders that the lists show, by the mark each left in a field of its own.
fn listed(kernel: &Kernel) -> BTreeMap<String, usize> {
    let mut marks: Vec<String> = Vec::new();
    let mut after = Some("0".to_owned());
    while let Some(from) = after.take() {
        let agents = json!({ "project": PROJECT, "limit": 500, "after": from });
        // The project may not be there yet; then it has no agents.
        let page = wait(kernel.query(Actor::OPERATOR, request::<ListAgents>(&agents)));
        let Ok(page) = page else { break };
        marks.extend(
            page.answer
                .items
                .into_iter()
                .map(|seen| seen.agent.profile.task),
        );
        after = page.answer.next;
    }
    after = Some("0".to_owned());
    while let Some(from) = after.take() {
        let projects: ListProjects = request(&json!({ "limit": 500, "after": from }));
        let page = wait(kernel.query(Actor::OPERATOR, projects)).expect("projects");
        marks.extend(page.answer.items.into_iter().map(|project| project.name));
        after = page.answer.next;
    }
    after = Some("0".to_owned());
    while let Some(from) = after.take() {
        let tokens: ListTokens = request(&json!({ "limit": 500, "after": from }));
        let page = wait(kernel.query(Actor::OPERATOR, tokens)).expect("tokens");
        let own = page
            .answer
            .items
            .into_iter()
            .filter(|token| token.agent_id.is_none());
        marks.extend(own.map(|token| token.name));
        after = page.answer.next;
    }
    after = Some("0".to_owned());
    while let Some(from) = after.take() {
        let locks = json!({ "project": PROJECT, "limit": 500, "after": from });
        let page = wait(kernel.query(Actor::OPERATOR, request::<ListLocks>(&locks)));
        let Ok(page) = page else { break };
        marks.extend(page.answer.items.into_iter().map(|lock| lock.name));
        after = page.answer.next;
    }
    let mut listed = BTreeMap::new();
    for mark in marks {
        *listed.entry(mark).or_default() += 1;
    }
    listed
}

/// Returns the orders whose message is in the operator's box, in its order, which must be that of
/// the log; the keeper's box must hold the same (C1, C3).
fn delivered(kernel: &Kernel, events: &BTreeMap<String, Vec<i64>>) -> Vec<String> {
    let operators = inbox(kernel, "operator").expect("the operator's box");
    let places = operators.iter().filter_map(|id| events.get(id)?.first());
    assert!(places.is_sorted(), "a box out of order: {operators:?}");
    match inbox(kernel, KEEPER) {
        Some(keepers) => assert_eq!(keepers, operators),
        // Where there is no keeper yet, messages are for the operator alone.
        None => assert!(!events.contains_key("setup-keeper")),
    }
    operators
}

/// Reads the subjects in a box, the oldest first.
fn inbox(kernel: &Kernel, owner: &str) -> Option<Vec<String>> {
    let mut subjects = Vec::new();
    let mut after = Some("0".to_owned());
    while let Some(from) = after.take() {
        let project = (owner != "operator").then_some(PROJECT);
        let inbox: Inbox = request(&json!({
            "agent": owner, "project": project, "order": "oldest", "detail": "none",
            "limit": 500, "after": from,
        }));
        let page = match wait(kernel.query(Actor::OPERATOR, inbox)) {
            Ok(page) => page.answer,
            Err(Error::NotFound { .. }) => return None,
            Err(error) => panic!("{error}"),
        };
        let items = page.items.into_iter();
        subjects.extend(items.map(|entry| entry.message.subject));
        after = page.next;
    }
    Some(subjects)
}

/// Reads the log from its beginning to its end, in one snapshot.
struct WholeLog;

impl Query for WholeLog {
    const NAME: &'static str = "whole_log";
    const WHO: &'static [Party] = &[Party::Operator];
    type Answer = Vec<Recorded>;

    fn run(&self, _: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Vec<Recorded>, Error> {
        let mut log: Vec<Recorded> = Vec::new();
        while log.last().map_or(Seq::ZERO, |event| event.seq) < snapshot.head() {
            let from = log.last().map_or(Seq::ZERO, |event| event.seq);
            let page = table::page(snapshot, from, 1_000)?;
            if page.is_empty() {
                break;
            }
            log.extend(page);
        }
        Ok(log)
    }
}
