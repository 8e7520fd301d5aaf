//! Finds discoveries by what they say: by words, by nearness, or by both.

use std::collections::{BTreeMap, HashSet};

use comity_domain::limits::{FUSED_MAX, PREVIEW_CHARS_MAX, SEARCH_QUERY_BYTES_MAX};
use comity_domain::search::{self, Sign};
use comity_domain::vector::{Embedding, ModelId, PackedEmbedding};
use comity_domain::{DiscoveryId, DiscoveryState, DiscoveryTier, ProjectId, Score, Text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Source;
use super::event::Embedded;
use super::index::{self, Among, Nearest};
use super::table::{self, Discovery};
use crate::actor::{Actor, Party};
use crate::embedder::{Embedder, Embeds, Made, Pace};
use crate::error::Error;
use crate::page::Limit;
use crate::project::table::{self as project_table, ProjectRef};
use crate::query::Query;
use crate::store::search::DiscoveryFilter;
use crate::tx::{Read, Snapshot};

/// What a place among the hits of one kind counts: `1 / (60 + place)`. Sixty lets a good place
/// among both kinds count for more than the first among one.
const FUSED_AFTER: f64 = 60.0;

/// Finds discoveries by what they say, the best first.
///
/// `text`: words, `"a phrase"`, `-without`, `begin*`, `subject:word` for a word of the title. Those
/// that hold them all come together with those whose vectors are near to that of the text. Or
/// `vector`: those whose vectors of that model are nearest.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchDiscoveries {
    /// What to look for, in words.
    #[serde(default)]
    pub text: Option<Text<SEARCH_QUERY_BYTES_MAX>>,
    /// What to look for, as a vector: base64 of 32-bit little-endian numbers, in either alphabet.
    #[serde(default)]
    pub vector: Option<PackedEmbedding>,
    /// The model that made the vector; the embedder's unless given.
    #[serde(default)]
    pub model: Option<ModelId>,
    /// The project's key or slug; an agent's own unless given, and everybody else's all.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// Only those of this source.
    #[serde(default)]
    pub source: Option<Source>,
    /// Only those in this state.
    #[serde(default)]
    pub state: Option<DiscoveryState>,
    /// Only those of this tier.
    #[serde(default)]
    pub tier: Option<DiscoveryTier>,
    /// Only those worth at least this.
    #[serde(default)]
    pub min_score: Option<Score>,
    /// How many at most.
    #[serde(default)]
    pub limit: Limit,
    /// What the embedder made of the text.
    #[serde(skip)]
    pub made: Made,
}

/// Discoveries that were found.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FoundDiscoveries {
    /// The hits, the best first; of equals the oldest.
    pub hits: Vec<DiscoveryHit>,
    /// The model whose vectors were compared; null if none were.
    pub model: Option<ModelId>,
    /// How many of those that were asked for have no vector of it and could have one: only words
    /// find them.
    pub not_embedded: i64,
    /// Why a text was looked for by its words alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words_only: Option<String>,
}

/// A discovery that was found.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DiscoveryHit {
    /// The discovery, with the beginning of its summary.
    pub discovery: Discovery,
    /// How near its vector is, from -1 to 1; null if it was found by its words alone.
    pub similarity: Option<f64>,
    /// Its place among those with the words, from 1; null if it is not one of them.
    pub text_rank: Option<i64>,
    /// What it is ordered by: the places fused, or the similarity where a vector was given.
    pub score: f64,
}

impl Query for SearchDiscoveries {
    const NAME: &'static str = "search_discoveries";
    const WHO: &'static [Party] = &[Party::Operator, Party::Agent, Party::Observer];
    type Answer = FoundDiscoveries;

    fn embeds(&mut self) -> Option<&mut dyn Embeds> {
        Some(self)
    }

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<FoundDiscoveries, Error> {
        let project = match &self.project {
            None => actor.project(),
            named => Some(project_table::resolve(snapshot, actor, named.as_ref())?.id),
        };
        let wanted = Wanted {
            project,
            filter: DiscoveryFilter {
                project: project.map(ProjectId::get),
                source: self.source.as_ref().map(ToString::to_string),
                state: self.state.map(DiscoveryState::as_str),
                tier: self.tier.map(DiscoveryTier::as_str),
                min_score: self.min_score.map(Score::get),
            },
            most: self.limit.get(),
        };
        // A search may take a moment only, and reading vectors for the first time takes longer.
        while index::warm(snapshot)? {}
        match (&self.text, &self.vector) {
            (Some(words), None) => self.by_text(snapshot, &wanted, words),
            (None, Some(vector)) => self.by_vector(snapshot, &wanted, &vector.0),
            (None, None) => Err(Error::invalid("text", "is missing, and so is `vector`")),
            (Some(_), Some(_)) => Err(Error::invalid("vector", "must not stand beside `text`")),
        }
    }
}

/// Among which discoveries is searched, and how many are wanted.
struct Wanted {
    project: Option<ProjectId>,
    filter: DiscoveryFilter,
    most: usize,
}

impl SearchDiscoveries {
    fn by_vector(
        &self,
        snapshot: &mut Snapshot<'_>,
        wanted: &Wanted,
        vector: &Embedding,
    ) -> Result<FoundDiscoveries, Error> {
        let model = self.model(snapshot.memory().embedder.as_deref())?;
        must_fit(snapshot, wanted.project, &model, vector)?;
        let only = wanted.only(snapshot, None)?;
        let (near, missing) = wanted.near(snapshot, &model, vector, only.as_ref(), wanted.most)?;
        let one = |(id, similarity)| Ranked {
            similarity: Some(similarity),
            text_rank: None,
            score: similarity,
            id,
        };
        let ranked = near.hits.into_iter().map(one).collect();
        Ok(FoundDiscoveries {
            hits: shown(snapshot, ranked)?,
            model: Some(model),
            not_embedded: missing,
            words_only: None,
        })
    }

    fn model(&self, embedder: Option<&dyn Embedder>) -> Result<ModelId, Error> {
        let missing = || {
            let rule = "is missing: there is no embedder whose vectors could be meant";
            Error::invalid("model", rule)
        };
        let own = embedder.map(|embedder| embedder.model().clone());
        self.model.clone().or(own).ok_or_else(missing)
    }

    fn by_text(
        &self,
        snapshot: &mut Snapshot<'_>,
        wanted: &Wanted,
        words: &str,
    ) -> Result<FoundDiscoveries, Error> {
        if self.model.is_some() {
            return Err(Error::invalid("model", "must stand beside `vector`"));
        }
        let query = search::Query::parse(words).map_err(|rule| Error::invalid("text", rule))?;
        if query.from.is_some() {
            return Err(Error::invalid("text", "must not hold `from:`"));
        }
        let near = match self.comparable(snapshot, wanted.project)? {
            Ok(Embedded { model, vector, .. }) => {
                let only = wanted.only(snapshot, refusals(&query).as_ref())?;
                let near = wanted.near(snapshot, model, vector, only.as_ref(), FUSED_MAX)?;
                Ok((model.clone(), near))
            }
            Err(reason) => Err(reason),
        };
        let most = i64::try_from(FUSED_MAX).unwrap_or(i64::MAX);
        let texts = snapshot.search_discoveries(Some(&query), &wanted.filter, most)?;
        let (model, missing, near, words_only) = match near {
            Ok((model, (near, missing))) => (Some(model), missing, near.hits, None),
            Err(reason) => (None, wanted.count(snapshot)?, Vec::new(), Some(reason)),
        };
        let mut ranked = fused(&texts, &near);
        ranked.truncate(wanted.most);
        Ok(FoundDiscoveries {
            hits: shown(snapshot, ranked)?,
            model,
            not_embedded: missing,
            words_only,
        })
    }

    /// Returns the vector of the text, or why there is none to compare.
    fn comparable(
        &self,
        snapshot: &mut Snapshot<'_>,
        project: Option<ProjectId>,
    ) -> Result<Result<&Embedded, String>, Error> {
        let made = match &self.made {
            Made::Vector(made) => made,
            Made::Failed(error) => return Ok(Err(error.to_string())),
            Made::Nothing => return Ok(Err("there is no embedder".to_owned())),
        };
        match must_fit(snapshot, project, &made.model, &made.vector) {
            Ok(()) => Ok(Ok(made)),
            Err(Error::Invalid { .. }) => {
                let reason = "the embedder's vectors have another dimension than those there are";
                Ok(Err(reason.to_owned()))
            }
            Err(error) => Err(error),
        }
    }
}

impl Embeds for SearchDiscoveries {
    fn text(&self, _pace: Pace) -> Option<String> {
        self.text.as_ref().map(ToString::to_string)
    }

    fn take(&mut self, made: Made) {
        self.made = made;
    }
}

impl Wanted {
    /// Returns the discoveries that may be found, unless project and source say it all.
    fn only(
        &self,
        snapshot: &mut Snapshot<'_>,
        refusals: Option<&search::Query>,
    ) -> Result<Option<HashSet<DiscoveryId>>, Error> {
        let filter = &self.filter;
        let is_plain = filter.state.is_none() && filter.tier.is_none();
        if is_plain && filter.min_score.is_none() && refusals.is_none() {
            return Ok(None);
        }
        let found = snapshot.search_discoveries(refusals, filter, i64::MAX)?;
        Ok(Some(found.into_iter().map(DiscoveryId::new).collect()))
    }

    /// Finds the nearest, and how many have no vector.
    fn near(
        &self,
        snapshot: &mut Snapshot<'_>,
        model: &ModelId,
        vector: &Embedding,
        only: Option<&HashSet<DiscoveryId>>,
        most: usize,
    ) -> Result<(Nearest, i64), Error> {
        let among = Among {
            model,
            project: self.project,
            source: self.filter.source.as_deref(),
            only,
        };
        let near = index::top(snapshot, &among, vector, most)?;
        let all = self.embeddable(snapshot, only)?;
        let looked_at = i64::try_from(near.looked_at).unwrap_or(i64::MAX);
        Ok((near, all - looked_at))
    }

    /// Counts those that may be found.
    fn count(&self, snapshot: &mut Snapshot<'_>) -> Result<i64, Error> {
        let only = self.only(snapshot, None)?;
        self.embeddable(snapshot, only.as_ref())
    }

    /// Counts those that have a vector or may get one: what is redacted never does.
    fn embeddable(
        &self,
        snapshot: &mut Snapshot<'_>,
        only: Option<&HashSet<DiscoveryId>>,
    ) -> Result<i64, Error> {
        let source = self.filter.source.as_deref();
        let all = match only {
            Some(only) => i64::try_from(only.len()).unwrap_or(i64::MAX),
            None => table::count(snapshot, self.project, source)?,
        };
        let redacted = table::redacted(snapshot, self.project, source)?;
        let redacted = redacted
            .iter()
            .filter(|id| only.is_none_or(|only| only.contains(id)));
        Ok(all - i64::try_from(redacted.count()).unwrap_or(0))
    }
}

/// A hit without its discovery.
#[derive(Debug, PartialEq)]
struct Ranked {
    id: DiscoveryId,
    similarity: Option<f64>,
    text_rank: Option<i64>,
    score: f64,
}

/// Puts together what has the words and what is near, by their places.
fn fused(texts: &[i64], near: &[(DiscoveryId, f64)]) -> Vec<Ranked> {
    let mut ranked: BTreeMap<DiscoveryId, Ranked> = BTreeMap::new();
    let mut at = |id: DiscoveryId, place: u16, add: &dyn Fn(&mut Ranked)| {
        let hit = ranked.entry(id).or_insert(Ranked {
            id,
            similarity: None,
            text_rank: None,
            score: 0.0,
        });
        hit.score += 1.0 / (FUSED_AFTER + f64::from(place));
        add(hit);
    };
    for (id, place) in texts.iter().zip(1_u16..) {
        let rank = Some(i64::from(place));
        at(DiscoveryId::new(*id), place, &|hit| hit.text_rank = rank);
    }
    // What points away from the text is no hit.
    let near = near.iter().filter(|(_, similarity)| *similarity > 0.0);
    for ((id, similarity), place) in near.zip(1_u16..) {
        at(*id, place, &|hit| hit.similarity = Some(*similarity));
    }
    let mut ranked: Vec<_> = ranked.into_values().collect();
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.id.cmp(&b.id)));
    ranked
}

/// Returns what a query refuses, as a query of its own: a vector knows nothing of words that must
/// not be there.
fn refusals(query: &search::Query) -> Option<search::Query> {
    let refused = query.terms.iter().filter(|term| term.sign == Sign::MustNot);
    let terms: Vec<_> = refused.cloned().collect();
    (!terms.is_empty()).then_some(search::Query { terms, from: None })
}

/// Reads the discoveries that were found.
fn shown(snapshot: &mut Snapshot<'_>, ranked: Vec<Ranked>) -> Result<Vec<DiscoveryHit>, Error> {
    let mut hits = Vec::with_capacity(ranked.len());
    for one in ranked {
        let Some(mut discovery) = table::by_id(snapshot, one.id)? else {
            continue;
        };
        let beginning = discovery.summary.chars().take(PREVIEW_CHARS_MAX);
        discovery.summary = beginning.collect();
        hits.push(DiscoveryHit {
            discovery,
            similarity: one.similarity,
            text_rank: one.text_rank,
            score: one.score,
        });
    }
    Ok(hits)
}

/// Refuses a vector of another size than those of its model have.
fn must_fit(
    snapshot: &mut Snapshot<'_>,
    project: Option<ProjectId>,
    model: &ModelId,
    vector: &Embedding,
) -> Result<(), Error> {
    let embedder = snapshot.memory().embedder.as_deref();
    let promised = embedder.filter(|embedder| embedder.model() == model);
    let promised = promised.map(Embedder::dimension);
    let wanted = i64::try_from(vector.dimension()).unwrap_or(i64::MAX);
    let stored = match project {
        Some(project) => table::dimension(snapshot, project, model)?,
        None => table::some_dimension(snapshot, model, wanted)?,
    };
    let stored = stored.and_then(|dimension| usize::try_from(dimension).ok());
    match stored.or(promised) {
        Some(wanted) if wanted != vector.dimension() => Err(Error::invalid(
            "vector",
            format!(
                "must hold {wanted} numbers as all vectors of `{model}` do, not {}",
                vector.dimension()
            ),
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_among_both_count_for_more_than_one_place() {
        let id = DiscoveryId::new;
        let hits = fused(&[1, 2], &[(id(3), 0.9), (id(2), 0.5), (id(4), -0.1)]);
        let order: Vec<_> = hits
            .iter()
            .map(|hit| (hit.id.get(), hit.text_rank, hit.similarity))
            .collect();
        assert_eq!(
            order,
            [
                (2, Some(2), Some(0.5)),
                (1, Some(1), None),
                (3, None, Some(0.9)),
            ]
        );
        let score = 1.0 / 62.0 + 1.0 / 62.0;
        assert!((hits[0].score - score).abs() < 1e-12);
    }
}
