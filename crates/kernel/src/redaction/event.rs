//! What happens to events.

use comity_domain::{ProjectId, Seq};
use serde::{Deserialize, Serialize};

use super::spot::Blanked;
use crate::log::Subject;

/// What somebody wrote was taken out of an event, and out of the rows where it still stood.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventRedacted {
    /// The event.
    pub id: Seq,
    /// Its kind.
    pub kind: String,
    /// What it was about.
    pub about: Subject,
    /// The project it belongs to.
    pub project: Option<ProjectId>,
    /// Why it was redacted.
    pub reason: String,
    /// What is left of its payload, as text: the log has it in the payload's place.
    pub remnant: String,
    /// The rows that still had its words.
    pub blanked: Vec<Blanked>,
}

impl EventRedacted {
    /// The kind of event that this is.
    pub const KIND: &'static str = "event_redacted";
}
