//! `comity discovery profile`.

use clap::Args;
use comity_domain::Change;
use comity_domain::vector::ModelId;
use comity_kernel::discovery::{GetInterestProfile, UpdateInterestProfile};
use comity_kernel::{Command as _, Error, Query as _};
use serde::de::DeserializeOwned;

use crate::commands::source;
use crate::failure::Failure;
use crate::parse::text;
use crate::session::Context;
use crate::show::{Shown, View, discoveries};

/// Shows what the project is interested in, or changes what is given.
#[derive(Args)]
#[command(
    after_help = "Example: comity discovery profile --keywords '{\"row locks\":0.4,\"blockchain\":-0.5}'"
)]
pub(crate) struct Profile {
    /// How much each keyword counts, from -1 to 1: an object in JSON, a file, or `none`.
    #[arg(long, value_name = "JSON|FILE|none")]
    keywords: Option<String>,
    /// How much each source counts, from -1 to 1: an object in JSON, a file, or `none`.
    #[arg(long, value_name = "JSON|FILE|none")]
    sources: Option<String>,
    /// What the project is about, as a vector: an array in JSON, a file, or `none`.
    #[arg(long, value_name = "JSON|FILE|none")]
    topic: Option<String>,
    /// The model that made the vector.
    #[arg(long, value_name = "MODEL", value_parser = text::<ModelId>, requires = "topic")]
    topic_model: Option<ModelId>,
    /// The revision you read; another one now is refused.
    #[arg(long, value_name = "N")]
    expected_revision: Option<i64>,
}

impl Profile {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let project = session.project()?;
        let given = [&self.keywords, &self.sources, &self.topic];
        let answer = if given.iter().all(|given| given.is_none()) {
            let request = GetInterestProfile { project };
            session.call(GetInterestProfile::NAME, &request)?
        } else {
            let request = UpdateInterestProfile {
                project,
                keyword_weights: change("--keywords", self.keywords.as_deref())?,
                source_weights: change("--sources", self.sources.as_deref())?,
                topic_vector: change("--topic", self.topic.as_deref())?,
                topic_model: self.topic_model.clone(),
                expected_revision: self.expected_revision,
            };
            session.call(UpdateInterestProfile::NAME, &request)?
        };
        let text = discoveries::profile(&answer);
        Ok(Shown::new(answer, View::Text(text)))
    }
}

fn change<T: DeserializeOwned>(option: &str, given: Option<&str>) -> Result<Change<T>, Error> {
    match given {
        None => Ok(Change::Keep),
        Some("none") => Ok(Change::Clear),
        Some(given) => source::document(option, given).map(Change::To),
    }
}
