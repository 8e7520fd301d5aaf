//! Scores a discovery by what the project is interested in.

use comity_domain::interest::{Looked, explain};
use comity_domain::{Addend, DiscoveryId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::DiscoveryScored;
use super::profile;
use super::table::{self, Discovery};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::error::Error;
use crate::reservation::held::holder;
use crate::tx::WriteTx;

/// Scores a discovery by the project's interest profile, and explains the sum.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScoreFromProfile {
    /// The discovery's number.
    pub id: DiscoveryId,
}

/// The discovery, and how its score came about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScoredFromProfile {
    /// The discovery as it is now.
    pub discovery: Discovery,
    /// The sum of the contributions; the score is that, brought into 0 to 1.
    pub sum: f64,
    /// What counted, and how much.
    pub addends: Vec<Addend>,
}

impl Command for ScoreFromProfile {
    const NAME: &'static str = "score_from_profile";
    const WHO: &'static [Party] = &[Party::Agent, Party::Operator];
    type Answer = ScoredFromProfile;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<ScoredFromProfile, Stop> {
        let actor = tx.actor().clone();
        let before = table::visible(tx, &actor, self.id)?;
        before.must_be_open()?;
        let profile = profile::stored(tx, before.project_id)?
            .ok_or_else(|| Error::not_found("interest profile of project", &before.project))?;
        let topic = match &profile.topic {
            Some((model, topic)) => {
                let own = table::vector(tx, before.id, model)?;
                own.and_then(|own| own.cosine(topic))
            }
            None => None,
        };
        let looked = Looked {
            title: &before.title,
            summary: &before.summary,
            source: &before.source,
            topic,
        };
        let explained = explain(&profile.keyword_weights, &profile.source_weights, &looked);
        if before.score != Some(explained.score) {
            tx.emit(DiscoveryScored {
                which: before.which(),
                score: explained.score,
                addends: Some(explained.addends.clone()),
                agent: holder(&actor),
            })?;
        }
        Ok(ScoredFromProfile {
            discovery: table::changed(tx, self.id)?,
            sum: explained.sum,
            addends: explained.addends,
        })
    }
}
