//! A dispatch as a file.

use comity_domain::{DispatchId, DispatchState, Outcome, Phase, RunId, Seq, Timestamp, Verdict};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::front;

/// A dispatch as its file holds it: as it was made, and once more as it was settled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assignment {
    /// Its number.
    pub id: DispatchId,
    /// The event that says so, in the log.
    pub seq: Seq,
    /// The project's slug.
    pub project: String,
    /// The run it is for.
    pub run: Option<RunId>,
    /// The phase that the run was in.
    pub phase: Option<Phase>,
    /// The kind of agent that is to do it.
    pub agent_kind: String,
    /// Before those of smaller priority.
    pub priority: i64,
    /// What its maker counts it with.
    pub group: Option<String>,
    /// Which attempt it is.
    pub attempt: i64,
    /// The attempt that this one repeats.
    pub retry_of: Option<DispatchId>,
    /// The first attempts of the work that must be completed before.
    pub depends_on: Vec<DispatchId>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Who made it.
    pub created_by: String,
    /// `queued` until it is settled, whoever has it in hand.
    pub state: DispatchState,
    /// When it was settled.
    pub settled_at: Option<Timestamp>,
    /// How it went, if its worker said so.
    pub outcome: Option<Outcome>,
    /// What its worker thinks of the work.
    pub verdict: Option<Verdict>,
    /// What its worker has to say.
    pub summary: Option<String>,
    /// What came of it.
    pub result: Option<Value>,
    /// Why it was given up.
    pub reason: Option<String>,
    /// How many tokens it used.
    pub tokens: Option<i64>,
    /// The SHA-256 of what is to be done.
    pub prompt_sha256: String,
    /// How many bytes that has.
    pub prompt_bytes: usize,
    /// What is to be done.
    #[serde(skip)]
    pub prompt: String,
}

impl Assignment {
    /// Writes the file.
    pub fn render(&self) -> serde_json::Result<String> {
        front::write(self, &self.prompt)
    }

    /// Reads a file; nothing if it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let (mut assignment, prompt): (Self, String) = front::read(text)?;
        if prompt.len() != assignment.prompt_bytes {
            return None;
        }
        assignment.prompt = prompt;
        Some(assignment)
    }
}
