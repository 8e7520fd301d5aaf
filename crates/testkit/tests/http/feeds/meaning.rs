//! What each caller must see of a log, written down a second time and from the outside.

use std::collections::{BTreeMap, BTreeSet};

use comity_domain::Seq;
use comity_kernel::log::{Recorded, table};
use comity_kernel::tx::{Read as _, Snapshot};
use comity_kernel::{Actor, Error, Party, Query};
use serde_json::{Value, json};

use crate::town::Town;

/// Whose eyes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Eyes {
    Operator,
    Observer(Option<i64>),
    Agent(i64, i64),
}

struct WholeLog;

impl Query for WholeLog {
    const NAME: &'static str = "whole_log";
    const WHO: &'static [Party] = &[Party::Operator];
    type Answer = Vec<Recorded>;

    fn run(&self, _: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Vec<Recorded>, Error> {
        let head = snapshot.head();
        let log = table::page(snapshot, Seq::ZERO, 1_000_000)?;
        assert_eq!(log.last().map(|event| event.seq), Some(head));
        Ok(log)
    }
}

/// What these eyes see of the whole log: places and payloads.
pub(super) fn seen(town: &Town, eyes: Eyes) -> Vec<(i64, Value)> {
    let log = town.served.kit.ask(WholeLog).unwrap().answer;
    let payloads: Vec<Value> = log
        .iter()
        .map(|event| serde_json::from_str(event.payload.as_ref().unwrap()).unwrap())
        .collect();
    let mut bcc: BTreeMap<i64, BTreeSet<Option<i64>>> = BTreeMap::new();
    for (event, payload) in log.iter().zip(&payloads) {
        if event.kind == "message_sent" {
            let all = payload["recipients"].as_array().unwrap().iter();
            let hidden = all.filter(|one| one["delivery"] == "bcc");
            let agents = hidden.map(|one| one["agent"].as_i64()).collect();
            bcc.insert(event.subject_id, agents);
        }
    }
    let hidden = |event: &Recorded, payload: &Value| {
        bcc.get(&event.subject_id)
            .is_some_and(|agents| agents.contains(&payload["by"].as_i64()))
    };
    let events = log.iter().zip(payloads);
    events
        .filter_map(|(event, payload)| {
            let hidden = hidden(event, &payload);
            let shown = match eyes {
                Eyes::Operator => Some(payload),
                Eyes::Observer(only) => observed(event, payload, only, hidden),
                Eyes::Agent(agent, project) => met(event, payload, agent, project),
            }?;
            Some((event.seq.get(), without(shown, &["sha256"], event)))
        })
        .collect()
}

fn without(mut payload: Value, fields: &[&str], event: &Recorded) -> Value {
    if event.kind == "token_created" {
        for field in fields {
            assert!(payload.as_object_mut().unwrap().remove(*field).is_some());
        }
    }
    payload
}

fn observed(event: &Recorded, payload: Value, only: Option<i64>, hidden: bool) -> Option<Value> {
    let project = event.project.map(comity_domain::ProjectId::get);
    if event.kind.starts_with("token_") || (only.is_some() && project != only) {
        return None;
    }
    match event.kind.as_str() {
        "message_sent" => Some(json!({
            "id": payload["id"], "project": payload["project"], "thread": payload["thread"],
            "from": payload["from"], "subject": payload["subject"],
            "importance": payload["importance"], "recipients": known(&payload, None),
        })),
        "message_read" | "message_acknowledged" => (!hidden).then(|| {
            json!({
                "id": payload["id"], "project": payload["project"],
                "from": payload["from"], "by": payload["by"],
            })
        }),
        _ => Some(payload),
    }
}

fn met(event: &Recorded, mut payload: Value, agent: i64, project: i64) -> Option<Value> {
    match event.kind.as_str() {
        "token_created" | "token_revoked" => None,
        "contact_requested" | "contact_answered" => {
            (payload["agent"] == agent || payload["sender"] == agent).then_some(payload)
        }
        "message_read" | "message_acknowledged" => {
            (payload["from"] == agent || payload["by"] == agent).then_some(payload)
        }
        "message_sent" if payload["from"] == agent => Some(payload),
        "message_sent" => {
            let mut all = payload["recipients"].as_array().unwrap().iter();
            all.find(|one| one["agent"] == agent)?;
            payload["recipients"] = known(&payload, Some(agent));
            Some(payload)
        }
        _ => (event.project?.get() == project).then_some(payload),
    }
}

/// The recipients without bcc, but for one.
fn known(payload: &Value, own: Option<i64>) -> Value {
    let all = payload["recipients"].as_array().unwrap().iter();
    let known = all
        .filter(|one| one["delivery"] != "bcc" || (own.is_some() && one["agent"].as_i64() == own));
    known.cloned().collect()
}
