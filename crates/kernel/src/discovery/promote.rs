//! Makes work of a discovery.

use comity_domain::limits::REF_BYTES_MAX;
use comity_domain::{DiscoveryId, Line, Score};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::DiscoveryPromoted;
use super::table::{self, Discovery};
use super::{ChangedDiscovery, changed};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::error::Error;
use crate::reservation::held::holder;
use crate::tx::WriteTx;

/// Notes that a discovery became work. It must be worth `threshold`, unless `force` is set.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromoteDiscovery {
    /// The discovery's number.
    pub id: DiscoveryId,
    /// The work item or run it became.
    #[serde(rename = "ref")]
    pub reference: Line<REF_BYTES_MAX>,
    /// What its score must reach; 0.5 unless given.
    #[serde(default)]
    pub threshold: Option<Score>,
    /// Whether it is promoted whatever its score, and even without one.
    #[serde(default)]
    pub force: bool,
}

impl Command for PromoteDiscovery {
    const NAME: &'static str = "promote_discovery";
    const WHO: &'static [Party] = &[Party::Agent, Party::Operator];
    type Answer = ChangedDiscovery;

    /// Looks, to be able to say why not; the event's own update looks again (J7).
    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<ChangedDiscovery, Stop> {
        let actor = tx.actor().clone();
        let before = table::visible(tx, &actor, self.id)?;
        before.must_be_open()?;
        let threshold = self.wanted();
        if let Some(threshold) = threshold {
            must_reach(&before, threshold)?;
        }
        tx.emit(DiscoveryPromoted {
            which: before.which(),
            reference: self.reference.to_string(),
            threshold,
            agent: holder(&actor),
        })?;
        Ok(changed(tx, self.id)?)
    }
}

impl PromoteDiscovery {
    /// Returns what the score must reach, unless it is forced.
    fn wanted(&self) -> Option<Score> {
        let threshold = self.threshold.unwrap_or(Score::THRESHOLD);
        (!self.force).then_some(threshold)
    }
}

fn must_reach(discovery: &Discovery, threshold: Score) -> Result<(), Error> {
    if discovery.score.is_some_and(|score| score >= threshold) {
        return Ok(());
    }
    Err(Error::BelowThreshold {
        discovery: discovery.id,
        score: discovery.score.map(Score::get),
        threshold: threshold.get(),
    })
}
