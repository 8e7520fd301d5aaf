//! Moves a consumer.

use comity_domain::{PlainName, Seq};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::ConsumerReset;
use super::register::must_be_in_the_log;
use super::table::{self, Consumer};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::project::ProjectRef;
use crate::tx::WriteTx;

/// Moves a consumer to another place in the log, back or ahead. It gets a new generation, so that
/// what a running instance still acknowledges does not move it again.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResetConsumer {
    /// The project's key or slug; an agent's own, and the whole workspace for the operator, unless
    /// given.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// The consumer's name.
    pub name: PlainName,
    /// Behind which event it goes on.
    pub to_seq: Seq,
}

/// The consumer as it is now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MovedConsumer {
    /// The consumer.
    pub consumer: Consumer,
}

impl Command for ResetConsumer {
    const NAME: &'static str = "reset_consumer";
    const WHO: &'static [Party] = &[Party::Orchestrator, Party::Operator];
    type Answer = MovedConsumer;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<MovedConsumer, Stop> {
        let actor = tx.actor().clone();
        let scope = table::scope(tx, &actor, self.project.as_ref())?;
        let stored = table::present(tx, scope, &self.name)?;
        must_be_in_the_log(tx, "to_seq", self.to_seq)?;
        tx.emit(ConsumerReset {
            id: stored.id,
            project: scope,
            name: stored.name,
            generation: stored.generation + 1,
            since: self.to_seq,
        })?;
        let stored = table::present(tx, scope, &self.name)?;
        Ok(MovedConsumer {
            consumer: stored.show(tx)?,
        })
    }
}
