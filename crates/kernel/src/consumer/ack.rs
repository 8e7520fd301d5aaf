//! Notes how far a consumer has come.

use comity_domain::limits::CURSOR_BYTES_MAX;
use comity_domain::{PlainName, Seq};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::table::{self, Consumer};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::error::Error;
use crate::project::ProjectRef;
use crate::tx::{Read as _, WriteTx};

/// Acknowledges everything up to an event: it is durable when it is answered. A smaller number than
/// before changes nothing.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AckConsumer {
    /// The project's key or slug; an agent's own, and the whole workspace for the operator, unless
    /// given.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// The consumer's name.
    pub name: PlainName,
    /// The generation that you registered.
    pub generation: i64,
    /// The last event that is done with; `through` of a poll if all of it is.
    pub seq: Seq,
    /// What to keep beside it, field by field: what is not named stays, null takes away.
    #[serde(default)]
    pub extra: Map<String, Value>,
}

/// Whether it moved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AckAnswer {
    /// Whether this moved it: not where it was as far already.
    pub moved: bool,
    /// The consumer as it is now.
    pub consumer: Consumer,
}

impl Command for AckConsumer {
    const NAME: &'static str = "ack_consumer";
    const WHO: &'static [Party] = &[Party::Orchestrator, Party::Operator];
    type Answer = AckAnswer;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<AckAnswer, Stop> {
        let actor = tx.actor().clone();
        let scope = table::scope(tx, &actor, self.project.as_ref())?;
        let mut stored = table::present(tx, scope, &self.name)?;
        stored.must_be_of(self.generation)?;
        let head = tx.head();
        if !(Seq::ZERO..=head).contains(&self.seq) {
            let rule = format!("must be between 0 and {head}, the end of the log");
            return Err(Error::invalid("seq", rule).into());
        }
        let before = stored.position;
        if self.seq >= before {
            let epoch = table::epoch_at(tx, self.seq)?.max(stored.epoch(tx)?);
            stored.position = self.seq;
            stored.cursor.move_to(self.seq, epoch);
            stored.cursor.add(&self.extra);
            stored.acked_at = Some(tx.now().at);
            let row = stored.row();
            if row.document.len() > CURSOR_BYTES_MAX {
                let rule = format!(
                    "must be at most {CURSOR_BYTES_MAX} bytes of JSON, with all that is kept"
                );
                return Err(Error::invalid("extra", rule).into());
            }
            tx.keep_cursor(&row)?;
            tx.hit("consumer.after_ack")?;
        }
        let stored = table::present(tx, scope, &self.name)?;
        Ok(AckAnswer {
            moved: stored.position > before,
            consumer: stored.show(tx)?,
        })
    }
}
