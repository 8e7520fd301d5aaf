//! Keeps claimed work longer.

use comity_domain::{DispatchId, Seq, Step, Ttl};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::claim::until;
use super::claimant::{Knows, in_hand};
use super::event::DispatchExtended;
use super::table::{self, Dispatch};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::tx::{Read, WriteTx};

/// Keeps what you claimed longer; never what you have lost.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExtendDispatch {
    /// The dispatch's number.
    pub id: DispatchId,
    /// How long from now, 1 s to 24 h; 5 minutes unless given. A claim is never shortened.
    #[serde(default)]
    pub lease: Option<Ttl>,
    /// The claim's fence; its claimant must give it.
    #[serde(default)]
    pub fence: Option<Seq>,
    /// The revision you know; the operator must give it for another's claim.
    #[serde(default)]
    pub expected_revision: Option<i64>,
}

/// The dispatch as it is now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExtendedDispatch {
    /// The dispatch.
    pub dispatch: Dispatch,
}

impl Command for ExtendDispatch {
    const NAME: &'static str = "extend_dispatch";
    const WHO: &'static [Party] = &[Party::Itself, Party::Operator];
    type Answer = ExtendedDispatch;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<ExtendedDispatch, Stop> {
        let knows = Knows {
            fence: self.fence,
            expected_revision: self.expected_revision,
        };
        let dispatch = in_hand(tx, self.id, knows)?;
        // What can be lost can be kept.
        dispatch.after(Step::LoseClaim)?;
        let extended = tx.now().lease;
        let expires = until(extended, self.lease);
        if dispatch.kept.expires.is_none_or(|known| known < expires) {
            tx.emit(DispatchExtended {
                which: dispatch.which(),
                extended,
                expires,
            })?;
        }
        let dispatch = table::changed(tx, self.id)?;
        Ok(ExtendedDispatch { dispatch })
    }
}
