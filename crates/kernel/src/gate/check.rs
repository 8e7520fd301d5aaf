//! Asks what a gate says.

use comity_domain::{Phase, RunId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Examined;
use super::evaluate::{self, Way};
use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::query::Query;
use crate::run::table::{self, Run};
use crate::tx::Snapshot;

/// Asks what `advance_run` would say now, and changes nothing.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckGate {
    /// The run's number.
    pub run: RunId,
}

/// What a gate says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateVerdict {
    /// The run.
    pub run: RunId,
    /// The phase it is in.
    pub from: Phase,
    /// The phase it would enter.
    pub to: Phase,
    /// Whether it may.
    pub passes: bool,
    /// Every check on the way, and what it found.
    pub checks: Vec<Examined>,
}

impl GateVerdict {
    pub(crate) fn of(run: &Run, way: &Way) -> Self {
        Self {
            run: run.id,
            from: run.phase.clone(),
            to: way.to.clone(),
            passes: way.is_open(),
            checks: way.checks.clone(),
        }
    }
}

impl Query for CheckGate {
    const NAME: &'static str = "check_gate";
    const WHO: &'static [Party] = &[Party::Operator, Party::Agent, Party::Observer];
    type Answer = GateVerdict;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<GateVerdict, Error> {
        let run = table::visible(snapshot, actor, self.run)?;
        run.must_be_active()?;
        let way = evaluate::way(snapshot, &run)?;
        Ok(GateVerdict::of(&run, &way))
    }
}
