//! Shows one message.

use comity_domain::MessageId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::table::{self, Detail, Mark, Message, own_box};
use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::query::Query;
use crate::tx::Snapshot;

/// Shows one message that you sent or got. Showing is not reading.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetMessage {
    /// The message's number.
    pub id: MessageId,
}

/// One message, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ShownMessage {
    /// The message.
    pub message: Message,
    /// Who read and acknowledged it: all of them for its sender, otherwise your own.
    pub marks: Vec<Mark>,
}

impl Query for GetMessage {
    const NAME: &'static str = "get_message";
    const WHO: &'static [Party] = &[Party::Itself, Party::Operator];
    type Answer = ShownMessage;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<ShownMessage, Error> {
        let message = table::visible(snapshot, actor, self.id)?
            .ok_or_else(|| Error::not_found("message", &self.id))?;
        let own = own_box(actor);
        let all = message.from_id == own || matches!(actor, Actor::Operator { .. });
        let mut marks = table::marks(snapshot, &message)?;
        marks.retain(|mark| all || mark.owner == own);
        let message = table::shown(snapshot, actor, message, Detail::Full)?;
        Ok(ShownMessage { message, marks })
    }
}
