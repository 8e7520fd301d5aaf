//! Acknowledges messages.

use comity_domain::limits::TASK_BYTES_MAX;
use comity_domain::{MessageId, Prose};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::MessageAcknowledged;
use super::read::{MarkedMessages, marked, received};
use super::table::own_box;
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::tx::WriteTx;

/// Acknowledges messages, which also reads them, and tells their senders; the first time counts.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Acknowledge {
    /// The messages' numbers.
    pub ids: Vec<MessageId>,
    /// What you say with it.
    #[serde(default)]
    pub note: Option<Prose<TASK_BYTES_MAX>>,
}

impl Command for Acknowledge {
    const NAME: &'static str = "acknowledge";
    const WHO: &'static [Party] = &[Party::Itself, Party::Operator];
    type Answer = MarkedMessages;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<MarkedMessages, Stop> {
        let own = own_box(tx.actor());
        for got in received(tx, own, &self.ids)? {
            if got.acked_at.is_none() {
                tx.emit(MessageAcknowledged {
                    id: got.id,
                    project: got.project,
                    from: got.from,
                    by: own,
                    note: self.note.as_ref().map(ToString::to_string),
                })?;
            }
        }
        Ok(marked(tx, own, &self.ids)?)
    }
}
