//! Puts a discovery aside.

use comity_domain::DiscoveryId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::DiscoveryDismissed;
use super::table;
use super::{ChangedDiscovery, changed};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::reservation::held::holder;
use crate::run::Words;
use crate::tx::WriteTx;

/// Puts a discovery aside for good; it still counts as known when something near to it comes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DismissDiscovery {
    /// The discovery's number.
    pub id: DiscoveryId,
    /// Why.
    #[serde(default)]
    pub reason: Option<Words>,
}

impl Command for DismissDiscovery {
    const NAME: &'static str = "dismiss_discovery";
    const WHO: &'static [Party] = &[Party::Agent, Party::Operator];
    type Answer = ChangedDiscovery;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<ChangedDiscovery, Stop> {
        let actor = tx.actor().clone();
        let before = table::visible(tx, &actor, self.id)?;
        before.must_be_open()?;
        tx.emit(DiscoveryDismissed {
            which: before.which(),
            reason: self.reason.as_deref().unwrap_or_default().to_owned(),
            rolled_back: false,
            agent: holder(&actor),
        })?;
        Ok(changed(tx, self.id)?)
    }
}
