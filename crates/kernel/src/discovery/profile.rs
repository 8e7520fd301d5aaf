//! What a project is interested in.

use std::collections::BTreeMap;

use comity_domain::limits::INTERESTS_MAX;
use comity_domain::search::tokens;
use comity_domain::vector::{Embedding, ModelId};
use comity_domain::{Change, ProjectId, Slug, Timestamp, Weight, Weights};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::InterestProfileUpdated;
use super::submit::{embedded, must_fit};
use super::table::embedding;
use super::{Keyword, Source};
use crate::actor::{Actor, Party};
use crate::command::{Command, Stop};
use crate::error::Error;
use crate::params;
use crate::project::table::{self as project_table, Project, ProjectRef};
use crate::project::update::check_revision;
use crate::query::Query;
use crate::store::{Row, StoreError};
use crate::tx::{Read, Snapshot, WriteTx};

/// Shows what a project is interested in.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetInterestProfile {
    /// The project's key or slug; an agent's own unless given.
    #[serde(default)]
    pub project: Option<ProjectRef>,
}

/// Changes what is given of a project's interests and leaves the rest as it is; `null` clears.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateInterestProfile {
    /// The project's key or slug; an agent's own unless given.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// How much each keyword counts, from -1 to 1; they take the place of all before.
    #[serde(default, skip_serializing_if = "Change::is_keep")]
    #[schemars(length(max = INTERESTS_MAX))]
    pub keyword_weights: Change<BTreeMap<Keyword, Weight>>,
    /// How much each source counts, from -1 to 1; they take the place of all before.
    #[serde(default, skip_serializing_if = "Change::is_keep")]
    #[schemars(length(max = INTERESTS_MAX))]
    pub source_weights: Change<BTreeMap<Source, Weight>>,
    /// What the project is about, as a vector: an array of numbers, or base64 of 32-bit
    /// little-endian ones.
    #[serde(default, skip_serializing_if = "Change::is_keep")]
    pub topic_vector: Change<Embedding>,
    /// The model that made the vector; wanted with `topic_vector`.
    #[serde(default)]
    pub topic_model: Option<ModelId>,
    /// The revision you read; another one now is refused.
    #[serde(default)]
    pub expected_revision: Option<i64>,
}

/// What a project is interested in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InterestProfile {
    /// The project's slug.
    pub project: Slug,
    /// The project's number.
    pub project_id: ProjectId,
    /// How much each keyword counts.
    pub keyword_weights: Weights,
    /// How much each source counts.
    pub source_weights: Weights,
    /// What the project is about, in base64.
    pub topic_vector: Option<Embedding>,
    /// The model that made the vector.
    pub topic_model: Option<ModelId>,
    /// When it was changed last; null as long as nobody has.
    pub updated_at: Option<Timestamp>,
    /// How many events it has; 0 as long as nobody changed it.
    pub revision: i64,
}

/// The profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InterestProfileAnswer {
    /// The profile.
    pub interest_profile: InterestProfile,
}

/// A profile as commands see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) keyword_weights: Weights,
    pub(super) source_weights: Weights,
    pub(super) topic: Option<(ModelId, Embedding)>,
    updated_at: Option<Timestamp>,
    revision: i64,
}

impl Query for GetInterestProfile {
    const NAME: &'static str = "interest_profile";
    const WHO: &'static [Party] = &[Party::Operator, Party::Agent];
    type Answer = InterestProfileAnswer;

    fn run(
        &self,
        actor: &Actor,
        snapshot: &mut Snapshot<'_>,
    ) -> Result<InterestProfileAnswer, Error> {
        let project = project_table::resolve(snapshot, actor, self.project.as_ref())?;
        let stored = stored(snapshot, project.id)?;
        Ok(answer(project, stored.unwrap_or_default()))
    }
}

impl Command for UpdateInterestProfile {
    const NAME: &'static str = "update_interest_profile";
    const WHO: &'static [Party] = &[Party::Operator, Party::Agent];
    type Answer = InterestProfileAnswer;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<InterestProfileAnswer, Stop> {
        let actor = tx.actor().clone();
        let project = project_table::resolve(tx, &actor, self.project.as_ref())?;
        let before = stored(tx, project.id)?.unwrap_or_default();
        check_revision(self.expected_revision, before.revision)?;
        let after = self.applied_to(&before)?;
        if after == before {
            return Ok(answer(project, before));
        }
        let topic = after.topic.as_ref();
        let topic = topic.map(|(model, vector)| embedded(model, vector));
        if let (Some(topic), true) = (&topic, after.topic != before.topic) {
            must_fit(tx, "topic_vector", project.id, topic)?;
        }
        tx.emit(InterestProfileUpdated {
            project: project.id,
            keyword_weights: after.keyword_weights,
            source_weights: after.source_weights,
            topic,
        })?;
        let stored = stored(tx, project.id)?;
        Ok(answer(project, stored.unwrap_or_default()))
    }
}

impl UpdateInterestProfile {
    /// Returns the profile after the change: what is not said stays (J10).
    fn applied_to(&self, before: &Stored) -> Result<Stored, Error> {
        let mut after = before.clone();
        match &self.keyword_weights {
            Change::Keep => {}
            Change::Clear => after.keyword_weights.clear(),
            Change::To(weights) => {
                if let Some(keyword) = weights.keys().find(|word| tokens(word).next().is_none()) {
                    let rule = format!("must hold words; `{keyword}` has no letter or digit");
                    return Err(Error::invalid("keyword_weights", rule));
                }
                after.keyword_weights = named("keyword_weights", weights)?;
            }
        }
        match &self.source_weights {
            Change::Keep => {}
            Change::Clear => after.source_weights.clear(),
            Change::To(weights) => after.source_weights = named("source_weights", weights)?,
        }
        match (&self.topic_vector, &self.topic_model) {
            (Change::Keep, None) => {}
            (Change::Clear, None) => after.topic = None,
            (Change::To(vector), Some(model)) => {
                after.topic = Some((model.clone(), vector.clone()));
            }
            (Change::To(_), None) => {
                let rule = "is missing: it says in which space the `topic_vector` is";
                return Err(Error::invalid("topic_model", rule));
            }
            (Change::Keep | Change::Clear, Some(_)) => {
                let rule = "is missing beside `topic_model`";
                return Err(Error::invalid("topic_vector", rule));
            }
        }
        Ok(after)
    }
}

fn named<K: ToString>(field: &str, weights: &BTreeMap<K, Weight>) -> Result<Weights, Error> {
    if weights.len() > INTERESTS_MAX {
        let rule = format!("must not hold more than {INTERESTS_MAX}");
        return Err(Error::invalid(field, rule));
    }
    let one = |(word, weight): (&K, &Weight)| (word.to_string(), *weight);
    Ok(weights.iter().map(one).collect())
}

impl Default for Stored {
    /// Nobody said anything yet.
    fn default() -> Self {
        Self {
            keyword_weights: Weights::new(),
            source_weights: Weights::new(),
            topic: None,
            updated_at: None,
            revision: 0,
        }
    }
}

fn answer(project: Project, stored: Stored) -> InterestProfileAnswer {
    let (topic_model, topic_vector) = stored.topic.unzip();
    InterestProfileAnswer {
        interest_profile: InterestProfile {
            project: project.slug,
            project_id: project.id,
            keyword_weights: stored.keyword_weights,
            source_weights: stored.source_weights,
            topic_vector,
            topic_model,
            updated_at: stored.updated_at,
            revision: stored.revision,
        },
    }
}

/// Returns a project's profile, once somebody said something.
pub(super) fn stored(
    read: &mut impl Read,
    project: ProjectId,
) -> Result<Option<Stored>, StoreError> {
    read.row(
        "select keyword_weights, source_weights, updated_at, revision, topic_model,
            topic_dimension, topic_vector
         from interest_profile where id = ?1",
        params![project],
        |row| {
            Ok(Stored {
                keyword_weights: weights(row)?,
                source_weights: weights(row)?,
                updated_at: row.take()?,
                revision: row.take()?,
                topic: topic(row)?,
            })
        },
    )
}

fn weights(row: &mut Row) -> Result<Weights, StoreError> {
    serde_json::from_str(&row.take::<String>()?).map_err(|_| StoreError::Shape("weights"))
}

fn topic(row: &mut Row) -> Result<Option<(ModelId, Embedding)>, StoreError> {
    let Some(model) = row.take::<Option<String>>()? else {
        return Ok(None);
    };
    let model = ModelId::parse(model).map_err(|_| StoreError::Shape("the name of a model"))?;
    Ok(Some((model, embedding(row)?)))
}
