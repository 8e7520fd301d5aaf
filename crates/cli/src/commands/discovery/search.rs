//! `comity discovery search`.

use clap::Args;
use comity_domain::limits::SEARCH_QUERY_BYTES_MAX;
use comity_domain::vector::{ModelId, PackedEmbedding};
use comity_domain::{DiscoveryState, DiscoveryTier, Score, Text};
use comity_kernel::discovery::{SearchDiscoveries, Source};
use comity_kernel::embedder::Made;
use comity_kernel::page::Limit;
use comity_kernel::{Error, Query as _};

use super::look::{STATES, TIERS};
use crate::commands::source;
use crate::failure::Failure;
use crate::parse::{json, text, word};
use crate::session::Context;
use crate::show::{Shown, View, discoveries};

/// Finds discoveries by what they say.
#[derive(Args)]
#[command(
    after_help = "Example: comity discovery search 'row locks -mysql' --tier high\nExample: comity discovery search --vector query.json --model acme/small@2"
)]
pub(crate) struct Search {
    /// What to look for: words, "a phrase", -without, begin*, subject:word for the title.
    #[arg(
        value_parser = text::<Text<SEARCH_QUERY_BYTES_MAX>>,
        allow_hyphen_values = true,
        required_unless_present = "vector",
        conflicts_with = "vector"
    )]
    text: Option<Text<SEARCH_QUERY_BYTES_MAX>>,
    /// Instead of it a vector: an array in JSON, or a file that holds one.
    #[arg(long, value_name = "JSON|FILE")]
    vector: Option<String>,
    /// The model that made the vector; the embedder's unless given.
    #[arg(long, value_parser = text::<ModelId>, requires = "vector")]
    model: Option<ModelId>,
    /// Only those in this state.
    #[arg(long, value_name = "STATE", value_parser = word::<DiscoveryState>(STATES))]
    state: Option<DiscoveryState>,
    /// Only those of this tier.
    #[arg(long, value_name = "TIER", value_parser = word::<DiscoveryTier>(TIERS))]
    tier: Option<DiscoveryTier>,
    /// Only those of this source.
    #[arg(long, value_parser = text::<Source>)]
    source: Option<Source>,
    /// Only those worth at least this.
    #[arg(long, value_name = "0..1", value_parser = json::<Score>)]
    min_score: Option<Score>,
    /// How many at most.
    #[arg(long, value_name = "N", value_parser = json::<Limit>)]
    limit: Option<Limit>,
}

impl Search {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let request = SearchDiscoveries {
            text: self.text.clone(),
            vector: self.vector()?,
            model: self.model.clone(),
            project: session.project()?,
            source: self.source.clone(),
            state: self.state,
            tier: self.tier,
            min_score: self.min_score,
            limit: self.limit.unwrap_or_default(),
            made: Made::default(),
        };
        let answer = session.call(SearchDiscoveries::NAME, &request)?;
        let text = discoveries::found(&answer);
        Ok(Shown::new(answer, View::Text(text)))
    }

    fn vector(&self) -> Result<Option<PackedEmbedding>, Error> {
        let given = self.vector.as_deref();
        let vector = given.map(|given| source::document("--vector", given));
        Ok(vector.transpose()?.map(PackedEmbedding))
    }
}
