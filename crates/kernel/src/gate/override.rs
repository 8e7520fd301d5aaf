//! Moves a run on whatever its gate says.

use comity_domain::{Phase, RunId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::evaluate;
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::run::Words;
use crate::run::advance::{AdvancedRun, take_the_way};
use crate::run::event::GateOverridden;
use crate::run::table;
use crate::tx::WriteTx;

/// Moves a run on whatever its gate says; what the gate said is recorded with the reason.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OverrideGate {
    /// The run's number.
    pub run: RunId,
    /// Why the gate does not count this time.
    pub reason: Words,
    /// The phase you think it is in; another one now is refused.
    #[serde(default)]
    pub expected_phase: Option<Phase>,
}

impl Command for OverrideGate {
    const NAME: &'static str = "override_gate";
    const WHO: &'static [Party] = &[Party::Operator];
    type Answer = AdvancedRun;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<AdvancedRun, Stop> {
        let actor = tx.actor().clone();
        let run = table::visible(tx, &actor, self.run)?;
        if let Some(expected) = &self.expected_phase {
            run.must_be_in(expected)?;
        }
        run.must_be_active()?;
        let way = evaluate::way(tx, &run)?;
        let reason = self.reason.to_string();
        let event = |moved| GateOverridden { moved, reason };
        Ok(take_the_way(tx, run, way, event)?)
    }
}
