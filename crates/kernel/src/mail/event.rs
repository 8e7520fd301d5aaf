//! What happens to mail.

use comity_domain::{AgentId, Delivery, Importance, MessageId, ProjectId, Sha256Hex};
use serde::{Deserialize, Serialize};

/// A message was sent and, in the same moment, delivered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageSent {
    /// Its number.
    pub id: MessageId,
    /// The sender's project.
    pub project: ProjectId,
    /// The number of its thread's first message.
    pub thread: MessageId,
    /// The message it answers.
    pub reply_to: Option<MessageId>,
    /// The sender; nobody is the operator.
    pub from: Option<AgentId>,
    /// Everybody who gets it, each once.
    pub recipients: Vec<Recipient>,
    /// One line.
    pub subject: String,
    /// Markdown.
    pub body: String,
    /// How much it matters.
    pub importance: Importance,
    /// Whether the recipients are asked to acknowledge it.
    pub ack_required: bool,
    /// The sender's own key.
    pub topic: Option<String>,
    /// What it carries.
    pub attachments: Vec<Attached>,
}

/// One who gets a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recipient {
    /// The agent; nobody is the operator.
    pub agent: Option<AgentId>,
    /// How it is named.
    pub delivery: Delivery,
}

/// One thing that a message carries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attached {
    /// The SHA-256 of its bytes.
    pub sha256: Sha256Hex,
    /// What the sender calls it.
    pub name: String,
    /// How many bytes it has.
    pub bytes: i64,
}

/// A recipient read a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageRead {
    /// The message.
    pub id: MessageId,
    /// The message's project.
    pub project: ProjectId,
    /// Who wrote it; nobody is the operator.
    pub from: Option<AgentId>,
    /// Who read it; nobody is the operator.
    pub by: Option<AgentId>,
}

/// A recipient acknowledged a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageAcknowledged {
    /// The message.
    pub id: MessageId,
    /// The message's project.
    pub project: ProjectId,
    /// Who wrote it, and is told by this; nobody is the operator.
    pub from: Option<AgentId>,
    /// Who acknowledged it; nobody is the operator.
    pub by: Option<AgentId>,
    /// What it said with it.
    pub note: Option<String>,
}
