//! Begins with work.

use comity_domain::{DispatchId, Seq};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::claimant::{Knows, begin, in_hand};
use super::table::{self, Dispatch};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::tx::WriteTx;

/// Says that you begin with what you claimed; a first report says so, too.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartDispatch {
    /// The dispatch's number.
    pub id: DispatchId,
    /// The claim's fence; its claimant must give it.
    #[serde(default)]
    pub fence: Option<Seq>,
    /// The revision you know; the operator must give it for another's claim.
    #[serde(default)]
    pub expected_revision: Option<i64>,
}

/// The dispatch as it is now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StartedDispatch {
    /// The dispatch.
    pub dispatch: Dispatch,
}

impl Command for StartDispatch {
    const NAME: &'static str = "start_dispatch";
    const WHO: &'static [Party] = &[Party::Itself, Party::Operator];
    type Answer = StartedDispatch;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<StartedDispatch, Stop> {
        let knows = Knows {
            fence: self.fence,
            expected_revision: self.expected_revision,
        };
        let dispatch = in_hand(tx, self.id, knows)?;
        begin(tx, dispatch)?;
        let dispatch = table::changed(tx, self.id)?;
        Ok(StartedDispatch { dispatch })
    }
}
