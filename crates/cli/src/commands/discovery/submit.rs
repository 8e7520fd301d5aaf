//! `comity discovery submit`.

use clap::Args;
use comity_domain::limits::{
    DISCOVERY_SUMMARY_BYTES_MAX, SOURCE_ID_BYTES_MAX, SUBJECT_BYTES_MAX, URL_BYTES_MAX,
};
use comity_domain::vector::{Embedding, ModelId};
use comity_domain::{Line, Prose, Score};
use comity_kernel::discovery::{Source, SubmitDiscovery};
use comity_kernel::embedder::Made;
use comity_kernel::{Command as _, Error};

use crate::commands::source;
use crate::failure::Failure;
use crate::parse::{json, text};
use crate::session::Context;
use crate::show::{Shown, View, discoveries};

/// Submits something worth knowing.
#[derive(Args)]
#[command(
    after_help = "Example: comity discovery submit 'Row locks in SQLite' --source arxiv --source-id 2611.01234 --summary 'What it says.' --score 0.7"
)]
pub(crate) struct Submit {
    /// What it is, in one line.
    #[arg(value_parser = text::<Line<SUBJECT_BYTES_MAX>>)]
    title: Line<SUBJECT_BYTES_MAX>,
    /// Where it comes from.
    #[arg(long, value_parser = text::<Source>)]
    source: Source,
    /// What the source calls it.
    #[arg(long, value_name = "ID", value_parser = text::<Line<SOURCE_ID_BYTES_MAX>>)]
    source_id: Line<SOURCE_ID_BYTES_MAX>,
    /// What it says; `-` reads it from stdin.
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    /// Where it can be read.
    #[arg(id = "link", long = "link", value_name = "URL", value_parser = text::<Line<URL_BYTES_MAX>>)]
    url: Option<Line<URL_BYTES_MAX>>,
    /// What it says as a vector: an array in JSON, or a file that holds one.
    #[arg(long, value_name = "JSON|FILE", requires = "model")]
    embedding: Option<String>,
    /// The model that made the vector.
    #[arg(long, value_parser = text::<ModelId>, requires = "embedding")]
    model: Option<ModelId>,
    /// What it is worth, from 0 to 1.
    #[arg(long, value_name = "0..1", value_parser = json::<Score>)]
    score: Option<Score>,
    /// How near another one of the source may be, up to 1, before this one counts as the same.
    #[arg(long, value_name = "0..1", value_parser = json::<Score>)]
    dedup_threshold: Option<Score>,
}

impl Submit {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let request = SubmitDiscovery {
            project: session.project()?,
            source: self.source.clone(),
            source_id: self.source_id.clone(),
            title: self.title.clone(),
            summary: self.summary()?,
            url: self.url.clone(),
            embedding: self.embedding()?,
            model: self.model.clone(),
            score: self.score,
            dedup_threshold: self.dedup_threshold,
            made: Made::default(),
        };
        let answer = session.call(SubmitDiscovery::NAME, &request)?;
        let text = discoveries::submitted(&answer);
        Ok(Shown::new(answer, View::Text(text)))
    }

    fn summary(&self) -> Result<Option<Prose<DISCOVERY_SUMMARY_BYTES_MAX>>, Error> {
        let Some(given) = &self.summary else {
            return Ok(None);
        };
        let text = source::text("--summary", given, DISCOVERY_SUMMARY_BYTES_MAX)?;
        let summary = Prose::parse(text).map_err(|rule| Error::invalid("--summary", rule))?;
        Ok(Some(summary))
    }

    fn embedding(&self) -> Result<Option<Embedding>, Error> {
        let given = self.embedding.as_deref();
        given
            .map(|given| source::document("--embedding", given))
            .transpose()
    }
}
