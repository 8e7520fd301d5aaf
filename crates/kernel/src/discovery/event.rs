//! What happens to discoveries and interest profiles.

use comity_domain::interest::{Addend, Weights};
use comity_domain::vector::{Embedding, ModelId};
use comity_domain::{AgentId, DiscoveryId, LeaseTime, ProjectId, Score, Signal};
use serde::{Deserialize, Serialize};

/// A vector in the space of its model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Embedded {
    /// Who made the vector.
    pub model: ModelId,
    /// How many numbers it has.
    pub dimension: i64,
    /// The vector.
    pub vector: Embedding,
}

/// Somebody found something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiscoverySubmitted {
    /// Its number.
    pub id: DiscoveryId,
    /// The project.
    pub project: ProjectId,
    /// Where it comes from.
    pub source: String,
    /// What the source calls it.
    pub source_id: String,
    /// What it is, in one line.
    pub title: String,
    /// What it says.
    pub summary: String,
    /// Where it can be read.
    pub url: Option<String>,
    /// What it is worth, if it came with a score.
    pub score: Option<Score>,
    /// What it says as a vector.
    pub embedding: Option<Embedded>,
    /// Who submitted it; nobody is the operator.
    pub agent: Option<AgentId>,
    /// When, on the lease clock.
    pub discovered: LeaseTime,
}

/// What every later event of a discovery says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Which {
    /// The discovery.
    pub id: DiscoveryId,
    /// The project.
    pub project: ProjectId,
}

/// It has a vector of another model, or its first one, from now on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiscoveryEmbedded {
    /// The discovery.
    #[serde(flatten)]
    pub which: Which,
    /// The vector.
    pub embedding: Embedded,
}

/// It has a score, the first or another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiscoveryScored {
    /// The discovery.
    #[serde(flatten)]
    pub which: Which,
    /// What it is worth.
    pub score: Score,
    /// How that came about, if the interest profile said so.
    pub addends: Option<Vec<Addend>>,
    /// Who scored it; nobody is the operator.
    pub agent: Option<AgentId>,
}

/// Its score lost of its value by age.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiscoveryDecayed {
    /// The discovery.
    #[serde(flatten)]
    pub which: Which,
    /// What part of the score was lost.
    pub rate: Score,
    /// What is left.
    pub score: Score,
    /// When, on the lease clock.
    pub decayed: LeaseTime,
}

/// It became work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiscoveryPromoted {
    /// The discovery.
    #[serde(flatten)]
    pub which: Which,
    /// The work item or run it became.
    #[serde(rename = "ref")]
    pub reference: String,
    /// What its score had to reach; nothing if it was forced.
    pub threshold: Option<Score>,
    /// Who promoted it; nobody is the operator.
    pub agent: Option<AgentId>,
}

/// It was put aside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiscoveryDismissed {
    /// The discovery.
    #[serde(flatten)]
    pub which: Which,
    /// Why.
    pub reason: String,
    /// Whether its source was rolled back.
    pub rolled_back: bool,
    /// Who dismissed it; nobody is the operator.
    pub agent: Option<AgentId>,
}

/// Somebody said what it was good for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedbackGiven {
    /// The discovery.
    #[serde(flatten)]
    pub which: Which,
    /// In a word.
    pub signal: Signal,
    /// In more words.
    pub note: String,
    /// Who said it; nobody is the operator.
    pub agent: Option<AgentId>,
}

/// The project is interested in this from now on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterestProfileUpdated {
    /// The project.
    pub project: ProjectId,
    /// How much each keyword counts.
    pub keyword_weights: Weights,
    /// How much each source counts.
    pub source_weights: Weights,
    /// What the project is about, as a vector.
    pub topic: Option<Embedded>,
}
