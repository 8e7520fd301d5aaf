//! Where somebody's words lie in the tables.

use comity_domain::{
    AgentId, ApprovalId, ArtifactId, ContactId, DiscoveryId, DispatchId, HookId, MessageId,
    ProjectId, ReleaseRequestId, ReservationId, RunId, Seq, VerdictId,
};
use serde::{Deserialize, Serialize};

use crate::log::{Event, Tables};
use crate::params;
use crate::store::{Row, Rows, StoreError};
use crate::tx::Read;

/// An event parted from what somebody wrote.
#[derive(Clone, Debug)]
pub struct Redacted {
    /// What is left of it.
    pub remnant: Event,
    /// Where its words went, and what they were there.
    pub texts: Vec<(Blanked, String)>,
}

impl Redacted {
    /// Parts an event from its words; this is what is left of it.
    pub(crate) fn to(remnant: impl Into<Event>) -> Self {
        Self {
            remnant: remnant.into(),
            texts: Vec::new(),
        }
    }

    /// Adds where some of its words went.
    #[must_use]
    pub(crate) fn from(mut self, at: Spot, key: impl Into<Key>, was: &str) -> Self {
        if !was.is_empty() {
            let key = key.into();
            self.texts.push((Blanked { at, key }, was.to_owned()));
        }
        self
    }
}

/// Words that were taken out of a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blanked {
    /// The column.
    pub at: Spot,
    /// The row.
    pub key: Key,
}

/// What a row is found by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Key {
    /// A number.
    Number(i64),
    /// Two numbers.
    Numbers(i64, i64),
    /// A number and a word.
    Named(i64, String),
    /// The number of the event itself, which is known where it is redacted.
    #[serde(skip)]
    Event,
}

macro_rules! numbers {
    ($($id:ident)+) => {$(
        impl From<$id> for Key {
            fn from(id: $id) -> Self {
                Self::Number(id.get())
            }
        }
    )+};
}

numbers! {
    AgentId ApprovalId ArtifactId ContactId DiscoveryId DispatchId HookId MessageId ProjectId ReleaseRequestId
    ReservationId RunId VerdictId
}

macro_rules! spots {
    ($($spot:ident = $word:literal, $table:literal, $column:literal, $row:literal, $blank:literal;)+) => {
        /// A column that holds what somebody wrote, or what can be learned from it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[expect(missing_docs, reason = "each is named after its table and column")]
        pub enum Spot {
            $(#[serde(rename = $word)] $spot,)+
            /// A vector, which goes as a whole.
            #[serde(rename = "discovery_vector")]
            DiscoveryVector,
            /// A value of state, wherever it is kept.
            #[serde(rename = "state_entry.value")]
            StateValue,
        }

        impl Spot {
            /// Stands for a value of state that is too large for its row.
            pub(crate) const LARGE: &str = "large";

            const fn ask(self) -> &'static str {
                match self {
                    $(Self::$spot => concat!("select ", $column, " from ", $table, " where ", $row),)+
                    Self::DiscoveryVector => "select model from discovery_vector where seq = ?1",
                    Self::StateValue => "select coalesce(value, 'large') from state_entry
                        where id = ?1 and version = ?2 and ended is null",
                }
            }

            const fn blank(self) -> &'static str {
                match self {
                    $(Self::$spot => concat!(
                        "update ", $table, " set ", $column, " = '", $blank, "' where ", $row
                    ),)+
                    Self::DiscoveryVector => "delete from discovery_vector where seq = ?1",
                    Self::StateValue => "update state_entry
                        set value = '\"[redacted]\"', sha256 = null
                        where id = ?1 and version = ?2",
                }
            }
        }
    };
}

spots! {
    ProjectName = "project.name", "project", "name", "id = ?1", "[redacted]";
    AgentTask = "agent.task", "agent", "task", "id = ?1", "[redacted]";
    AgentMetadata = "agent.metadata", "agent", "metadata", "id = ?1", "{\"[redacted]\":true}";
    MessageSubject = "message.subject", "message", "subject", "id = ?1", "[redacted]";
    MessageBody = "message.body", "message", "body", "id = ?1", "[redacted]";
    MessageTopic = "message.topic", "message", "topic", "id = ?1", "[redacted]";
    AttachmentName = "message_attachment.name", "message_attachment", "name",
        "message_id = ?1 and position = ?2", "[redacted]";
    RecipientNote = "recipient.note", "recipient", "note",
        "message_id = ?1 and agent_id = ?2", "[redacted]";
    ContactReason = "contact.reason", "contact", "reason", "id = ?1", "[redacted]";
    LeaseReason = "reservation.reason", "reservation", "reason", "id = ?1", "[redacted]";
    ReleaseReason = "release_request.reason", "release_request", "reason", "id = ?1", "[redacted]";
    RunGoal = "run.goal", "run", "goal", "id = ?1", "[redacted]";
    RunMetadata = "run.metadata", "run", "metadata", "id = ?1", "{\"[redacted]\":true}";
    SkipReason = "run_skip.reason", "run_skip", "reason", "run_id = ?1 and phase = ?2",
        "[redacted]";
    ArtifactPath = "artifact.path", "artifact", "path", "id = ?1", "[redacted]";
    ArtifactUrl = "artifact.url", "artifact", "url", "id = ?1", "[redacted]";
    VerdictSummary = "verdict.summary", "verdict", "summary", "id = ?1", "[redacted]";
    ApprovalNote = "approval.note", "approval", "note", "id = ?1", "[redacted]";
    DispatchPrompt = "dispatch.prompt", "dispatch", "prompt", "id = ?1", "[redacted]";
    DispatchProgress = "dispatch.progress", "dispatch", "progress", "id = ?1", "[redacted]";
    DispatchSummary = "dispatch.summary", "dispatch", "summary", "id = ?1", "[redacted]";
    DispatchResult = "dispatch.result", "dispatch", "result", "id = ?1", "\"[redacted]\"";
    DispatchReason = "dispatch.reason", "dispatch", "reason", "id = ?1", "[redacted]";
    DiscoveryTitle = "discovery.title", "discovery", "title", "id = ?1", "[redacted]";
    DiscoverySummary = "discovery.summary", "discovery", "summary", "id = ?1", "[redacted]";
    DiscoveryUrl = "discovery.url", "discovery", "url", "id = ?1", "[redacted]";
    DiscoveryRef = "discovery.ref", "discovery", "ref", "id = ?1", "[redacted]";
    DiscoveryReason = "discovery.reason", "discovery", "reason", "id = ?1", "[redacted]";
    FeedbackNote = "discovery_feedback.note", "discovery_feedback", "note", "seq = ?1", "[redacted]";
    HookUrl = "hook.url", "hook", "url", "id = ?1", "[redacted]";
    HookCommand = "hook.command", "hook", "command", "id = ?1", "[\"[redacted]\"]";
}

impl Blanked {
    /// Returns the same place, with the number of the event where that is meant.
    pub(super) fn of_event(&self, seq: Seq) -> Self {
        let key = match &self.key {
            Key::Event => Key::Number(seq.get()),
            key => key.clone(),
        };
        Self { at: self.at, key }
    }

    /// Returns what stands there now, if the row is there.
    pub(super) fn now(&self, read: &mut impl Read) -> Result<Option<String>, StoreError> {
        let sql = self.at.ask();
        let found = match &self.key {
            Key::Number(id) => read.row(sql, params![*id], Row::take::<Option<String>>),
            Key::Numbers(id, of) => read.row(sql, params![*id, *of], Row::take),
            Key::Named(id, name) => read.row(sql, params![*id, name.as_str()], Row::take),
            Key::Event => Ok(None),
        };
        Ok(found?.flatten())
    }

    /// Takes the words out of the row.
    pub(super) fn write(&self, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        let one = match self.at {
            // What is left of its event may bring none.
            Spot::DiscoveryVector => Rows::Any,
            _ => Rows::Exactly(1),
        };
        let sql = self.at.blank();
        match &self.key {
            Key::Number(id) => tables.write(sql, params![*id], one),
            Key::Numbers(id, of) => tables.write(sql, params![*id, *of], one),
            Key::Named(id, name) => tables.write(sql, params![*id, name.as_str()], one),
            Key::Event => Err(StoreError::Shape("the number of a row")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // I8: what a redaction blanked is in the log for ever
    #[test]
    fn a_place_is_written_the_same_for_ever() {
        let places = [
            (Spot::MessageBody, Key::Number(5)),
            (Spot::RecipientNote, Key::Numbers(5, 0)),
            (Spot::SkipReason, Key::Named(5, "build".into())),
        ];
        let places: Vec<_> = places
            .into_iter()
            .map(|(at, key)| Blanked { at, key })
            .collect();
        let text = serde_json::to_string(&places).unwrap();
        assert_eq!(
            text,
            "[{\"at\":\"message.body\",\"key\":5},{\"at\":\"recipient.note\",\"key\":[5,0]},\
             {\"at\":\"run_skip.reason\",\"key\":[5,\"build\"]}]"
        );
        let back: Vec<Blanked> = serde_json::from_str(&text).unwrap();
        assert_eq!(back, places);
    }
}
