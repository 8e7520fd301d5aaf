//! Submits a discovery.

use comity_domain::limits::{
    DISCOVERY_SUMMARY_BYTES_MAX, SOURCE_ID_BYTES_MAX, SUBJECT_BYTES_MAX, URL_BYTES_MAX,
};
use comity_domain::vector::{Embedding, ModelId};
use comity_domain::{DiscoveryId, Line, ProjectId, Prose, Score};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::{DiscoverySubmitted, Embedded};
use super::table::{self, Discovery};
use super::{Source, index};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::embedder::{Embeds, Made, Pace};
use crate::error::Error;
use crate::project::table::{self as project_table, ProjectRef};
use crate::reservation::held::holder;
use crate::tx::{Read, WriteTx};

/// Submits something worth knowing. What its source calls it is unique; with `dedup_threshold`
/// nothing is added if the source has one that says nearly the same, whatever became of that one.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubmitDiscovery {
    /// The project's key or slug; an agent's own unless given.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// Where it comes from, such as `arxiv` or `changelog`.
    pub source: Source,
    /// What the source calls it.
    pub source_id: Line<SOURCE_ID_BYTES_MAX>,
    /// What it is, in one line.
    pub title: Line<SUBJECT_BYTES_MAX>,
    /// What it says.
    #[serde(default)]
    pub summary: Option<Prose<DISCOVERY_SUMMARY_BYTES_MAX>>,
    /// Where it can be read.
    #[serde(default)]
    pub url: Option<Line<URL_BYTES_MAX>>,
    /// What it says as a vector: an array of numbers, or base64 of 32-bit little-endian ones.
    #[serde(default)]
    pub embedding: Option<Embedding>,
    /// The model that made the vector; wanted with `embedding`.
    #[serde(default)]
    pub model: Option<ModelId>,
    /// What it is worth, from 0 to 1.
    #[serde(default)]
    pub score: Option<Score>,
    /// How near another one of the source may be, above 0 and up to 1, before this one counts as
    /// the same; not compared unless given.
    #[serde(default)]
    pub dedup_threshold: Option<Score>,
    /// What the embedder made of it, before the transaction.
    #[serde(skip)]
    pub made: Made,
}

/// The discovery, or the one that says nearly the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubmittedDiscovery {
    /// Whether it was added.
    pub created: bool,
    /// The discovery, if it was added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discovery: Option<Discovery>,
    /// The one that says nearly the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate_of: Option<DiscoveryId>,
    /// How near that one is, as a cosine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub similarity: Option<f64>,
    /// With `dedup_threshold`: how many discoveries of the source have no vector of the model, so that
    /// this one was not compared with them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_compared: Option<i64>,
}

impl Command for SubmitDiscovery {
    const NAME: &'static str = "submit_discovery";
    const WHO: &'static [Party] = &[Party::Agent, Party::Operator];
    type Answer = SubmittedDiscovery;

    fn embeds(&mut self) -> Option<&mut dyn Embeds> {
        Some(self)
    }

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<SubmittedDiscovery, Stop> {
        let actor = tx.actor().clone();
        let project = project_table::resolve(tx, &actor, self.project.as_ref())?.id;
        if let Some(id) = table::by_source_id(tx, project, &self.source, &self.source_id)? {
            return Err(Error::AlreadyExists {
                what: format!("discovery `{}` of source `{}`", self.source_id, self.source),
                id: Some(id.get()),
            }
            .into());
        }
        let embedding = self.embedding(tx, project)?;
        let scan = self.scan(tx, project, embedding.as_ref())?;
        let not_compared = scan.as_ref().map(|scan| scan.not_compared);
        if let Some((id, similarity)) = scan.and_then(|scan| scan.too_near) {
            return Ok(SubmittedDiscovery {
                created: false,
                discovery: None,
                duplicate_of: Some(id),
                similarity: Some(similarity),
                not_compared,
            });
        }
        // Nobody else is at it: the scan and the insertion are one transaction (J2).
        tx.hit("discovery.after_scan")?;
        let id = table::next_id(tx)?;
        tx.emit(DiscoverySubmitted {
            id,
            project,
            source: self.source.to_string(),
            source_id: self.source_id.to_string(),
            title: self.title.to_string(),
            summary: self.summary.as_deref().unwrap_or_default().to_owned(),
            url: self.url.as_ref().map(ToString::to_string),
            score: self.score,
            embedding,
            agent: holder(&actor),
            discovered: tx.now().lease,
        })?;
        Ok(SubmittedDiscovery {
            created: true,
            discovery: Some(table::changed(tx, id)?),
            duplicate_of: None,
            similarity: None,
            not_compared,
        })
    }

    /// What was not added may be added later, when what was near to it has been forgotten.
    fn is_kept(answer: &SubmittedDiscovery) -> bool {
        answer.created
    }
}

impl SubmitDiscovery {
    /// Returns the vector that is kept with it: the caller's own, or the embedder's.
    fn embedding(
        &self,
        read: &mut impl Read,
        project: ProjectId,
    ) -> Result<Option<Embedded>, Error> {
        match (&self.embedding, &self.model) {
            (None, None) => self.made(read, project),
            (Some(vector), Some(model)) => {
                let embedded = embedded(model, vector);
                must_fit(read, "embedding", project, &embedded)?;
                Ok(Some(embedded))
            }
            (Some(_), None) => {
                let rule = "is missing: it says in which space the `embedding` is";
                Err(Error::invalid("model", rule))
            }
            (None, Some(_)) => Err(Error::invalid("embedding", "is missing beside `model`")),
        }
    }

    /// Returns what the embedder made. Where nothing is compared it can come later, so a discovery
    /// does not fail for want of it.
    fn made(&self, read: &mut impl Read, project: ProjectId) -> Result<Option<Embedded>, Error> {
        let is_compared = self.dedup_threshold.is_some();
        match &self.made {
            Made::Vector(made) => match must_fit(read, "embedding", project, made) {
                Err(Error::Invalid { .. }) if !is_compared => Ok(None),
                fits => fits.map(|()| Some(made.clone())),
            },
            Made::Failed(error) if is_compared => Err(Error::EmbedderUnavailable {
                reason: error.to_string(),
            }),
            Made::Failed(_) | Made::Nothing => Ok(None),
        }
    }

    /// Finds the nearest one of the same source, if it is too near, where that is asked for.
    fn scan(
        &self,
        read: &mut impl Read,
        project: ProjectId,
        embedding: Option<&Embedded>,
    ) -> Result<Option<Scan>, Error> {
        let Some(threshold) = self.dedup_threshold.map(Score::get) else {
            return Ok(None);
        };
        if threshold <= 0.0 {
            return Err(Error::invalid("dedup_threshold", "must be more than 0"));
        }
        let Some(Embedded { model, vector, .. }) = embedding else {
            let rule = "needs an `embedding` to compare: there is no embedder to make one";
            return Err(Error::invalid("dedup_threshold", rule));
        };
        let near = index::nearest(read, project, &self.source, model, vector)?;
        let looked_at = i64::try_from(near.looked_at).unwrap_or(i64::MAX);
        let all = table::count(read, Some(project), Some(&*self.source))?;
        let nearest = near.hits.first().copied();
        Ok(Some(Scan {
            too_near: nearest.filter(|(_, similarity)| *similarity >= threshold),
            not_compared: all - looked_at,
        }))
    }
}

/// What a look at the discoveries of a source came to.
struct Scan {
    /// The nearest and how near it is, if that is too near.
    too_near: Option<(DiscoveryId, f64)>,
    /// How many have no vector to compare.
    not_compared: i64,
}

impl Embeds for SubmitDiscovery {
    /// What somebody has to be asked for is asked for only where it is compared.
    fn text(&self, pace: Pace) -> Option<String> {
        let is_wanted = pace == Pace::Quick || self.dedup_threshold.is_some();
        let is_missing = self.embedding.is_none() && self.model.is_none();
        let summary = self.summary.as_deref().unwrap_or_default();
        (is_wanted && is_missing).then(|| text_of(&self.title, summary))
    }

    fn take(&mut self, made: Made) {
        self.made = made;
    }

    fn compares(&self) -> bool {
        self.dedup_threshold.is_some()
    }
}

/// Returns what of a discovery is made a vector.
pub(super) fn text_of(title: &str, summary: &str) -> String {
    format!("{title}\n{summary}")
}

/// Puts a vector and its model together.
pub(super) fn embedded(model: &ModelId, vector: &Embedding) -> Embedded {
    Embedded {
        model: model.clone(),
        dimension: i64::try_from(vector.dimension()).unwrap_or(i64::MAX),
        vector: vector.clone(),
    }
}

/// Refuses a vector of another size than the others of its model have, or than the embedder makes
/// them: it is not of that space.
pub(super) fn must_fit(
    read: &mut impl Read,
    field: &'static str,
    project: ProjectId,
    embedded: &Embedded,
) -> Result<(), Error> {
    must_be_of_size(read, field, project, &embedded.model, embedded.dimension)
}

/// Refuses a vector of so many numbers, if those of its model have another size.
pub(super) fn must_be_of_size(
    read: &mut impl Read,
    field: &'static str,
    project: ProjectId,
    model: &ModelId,
    dimension: i64,
) -> Result<(), Error> {
    let present = read.memory().embedder.as_deref();
    let promised = present.filter(|present| present.model() == model);
    let promised = promised.and_then(|present| i64::try_from(present.dimension()).ok());
    let stored = table::dimension(read, project, model)?;
    match [promised, stored]
        .into_iter()
        .flatten()
        .find(|wanted| *wanted != dimension)
    {
        Some(wanted) => Err(Error::invalid(
            field,
            format!("must hold {wanted} numbers as all vectors of `{model}` do, not {dimension}"),
        )),
        None => Ok(()),
    }
}
