//! Says what a discovery is worth.

use comity_domain::{DiscoveryId, Score};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::DiscoveryScored;
use super::table;
use super::{ChangedDiscovery, changed};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::project::update::check_revision;
use crate::reservation::held::holder;
use crate::tx::WriteTx;

/// Says what a discovery is worth, for the first time or anew; a settled one keeps its score.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScoreDiscovery {
    /// The discovery's number.
    pub id: DiscoveryId,
    /// What it is worth, from 0 to 1.
    pub score: Score,
    /// The revision you read; another one now is refused.
    #[serde(default)]
    pub expected_revision: Option<i64>,
}

impl Command for ScoreDiscovery {
    const NAME: &'static str = "score_discovery";
    const WHO: &'static [Party] = &[Party::Agent, Party::Operator];
    type Answer = ChangedDiscovery;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<ChangedDiscovery, Stop> {
        let actor = tx.actor().clone();
        let before = table::visible(tx, &actor, self.id)?;
        before.must_be_open()?;
        check_revision(self.expected_revision, before.revision)?;
        if before.score == Some(self.score) {
            return Ok(ChangedDiscovery { discovery: before });
        }
        tx.emit(DiscoveryScored {
            which: before.which(),
            score: self.score,
            addends: None,
            agent: holder(&actor),
        })?;
        Ok(changed(tx, self.id)?)
    }
}
