//! What the phases of a run leave behind, and what is thought of them.

use serde_json::Value;

use super::ago::ago;
use super::field::{field, is};
use super::listing::{columns, cut, listing};

const ARTIFACTS: [&str; 6] = ["artifact", "phase", "kind", "what", "added", "marks"];
const AGENTS: [&str; 5] = ["agent", "role", "state", "began", "done"];
const VERDICTS: [&str; 6] = ["verdict", "phase", "says", "when", "marks", "summary"];
const APPROVALS: [&str; 6] = ["approval", "phase", "role", "when", "marks", "note"];

/// Writes a page of artifacts.
pub(crate) fn artifacts(page: &Value) -> String {
    listing(page, &ARTIFACTS, artifact_row)
}

/// Writes one artifact.
pub(crate) fn artifact(answer: &Value) -> String {
    columns(
        &ARTIFACTS,
        answer.get("artifact").into_iter().map(artifact_row),
    )
}

/// Writes a page of agents.
pub(crate) fn agents(page: &Value) -> String {
    listing(page, &AGENTS, agent_row)
}

/// Writes one agent's part.
pub(crate) fn agent(answer: &Value) -> String {
    columns(&AGENTS, answer.get("run_agent").into_iter().map(agent_row))
}

/// Writes a page of verdicts.
pub(crate) fn verdicts(page: &Value) -> String {
    listing(page, &VERDICTS, verdict_row)
}

/// Writes one verdict.
pub(crate) fn verdict(answer: &Value) -> String {
    columns(
        &VERDICTS,
        answer.get("verdict").into_iter().map(verdict_row),
    )
}

/// Writes a page of approvals.
pub(crate) fn approvals(page: &Value) -> String {
    listing(page, &APPROVALS, approval_row)
}

/// Writes one approval.
pub(crate) fn approval(answer: &Value) -> String {
    columns(
        &APPROVALS,
        answer.get("approval").into_iter().map(approval_row),
    )
}

fn artifact_row(artifact: &Value) -> Vec<String> {
    let places = ["path", "url", "sha256"].map(|name| field(artifact, name));
    let place = places.into_iter().find(|place| !place.is_empty());
    vec![
        field(artifact, "id"),
        field(artifact, "phase"),
        field(artifact, "kind"),
        cut(&place.unwrap_or_default()),
        ago(&field(artifact, "created_at")),
        withdrawn(artifact),
    ]
}

fn agent_row(agent: &Value) -> Vec<String> {
    let state = if is(agent, "active") {
        "at work".to_owned()
    } else {
        field(agent, "outcome")
    };
    vec![
        field(agent, "name"),
        field(agent, "role"),
        state,
        ago(&field(agent, "started_at")),
        ago(&field(agent, "finished_at")),
    ]
}

fn verdict_row(verdict: &Value) -> Vec<String> {
    vec![
        field(verdict, "id"),
        field(verdict, "phase"),
        field(verdict, "verdict"),
        ago(&field(verdict, "created_at")),
        withdrawn(verdict),
        cut(&field(verdict, "summary")),
    ]
}

fn approval_row(approval: &Value) -> Vec<String> {
    vec![
        field(approval, "id"),
        field(approval, "phase"),
        field(approval, "role"),
        ago(&field(approval, "created_at")),
        withdrawn(approval),
        cut(&field(approval, "note")),
    ]
}

fn withdrawn(evidence: &Value) -> String {
    match field(evidence, "withdrawn_at") {
        standing if standing.is_empty() => standing,
        _ => "withdrawn".to_owned(),
    }
}
