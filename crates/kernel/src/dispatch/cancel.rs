//! Gives work up.

use comity_domain::{DispatchId, DispatchState, Step};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::due::lapse;
use super::event::DispatchCancelled;
use super::table::{self, Dispatch};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::run::Words;
use crate::tx::WriteTx;

/// Gives work up, whether or not somebody has it in hand.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CancelDispatch {
    /// The dispatch's number.
    pub id: DispatchId,
    /// Why.
    #[serde(default)]
    pub reason: Option<Words>,
    /// The revision you know; another one is refused.
    pub expected_revision: i64,
}

/// The dispatch as it is settled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CancelledDispatch {
    /// The dispatch.
    pub dispatch: Dispatch,
}

impl Command for CancelDispatch {
    const NAME: &'static str = "cancel_dispatch";
    const WHO: &'static [Party] = &[Party::Orchestrator, Party::Operator];
    type Answer = CancelledDispatch;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<CancelledDispatch, Stop> {
        let actor = tx.actor().clone();
        let dispatch = table::visible(tx, &actor, self.id)?;
        dispatch.after(Step::Cancel)?;
        if lapse(tx, &dispatch)? {
            let refusal = dispatch.cannot(DispatchState::TimedOut);
            return Err(Stop::Refused(refusal));
        }
        dispatch.must_have(self.expected_revision)?;
        tx.emit(DispatchCancelled {
            which: dispatch.which(),
            reason: self.reason.as_deref().unwrap_or_default().to_owned(),
        })?;
        let dispatch = table::changed(tx, self.id)?;
        Ok(CancelledDispatch { dispatch })
    }
}
