//! Discoveries: reading rows.

use comity_domain::limits::PREVIEW_CHARS_MAX;
use comity_domain::vector::{Embedding, ModelId};
use comity_domain::{
    AgentId, DiscoveryId, DiscoveryState, DiscoveryTier, LeaseTime, ProjectId, Score, Slug,
    Timestamp,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::Which;
use crate::actor::Actor;
use crate::epoch::next_id;
use crate::error::{Error, Impossible};
use crate::params;
use crate::store::{Param, Row, StoreError};
use crate::tx::Read;

/// A discovery as callers see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Discovery {
    /// Its number.
    pub id: DiscoveryId,
    /// The project's slug.
    pub project: Slug,
    /// The project's number.
    pub project_id: ProjectId,
    /// Where it comes from.
    pub source: String,
    /// What the source calls it.
    pub source_id: String,
    /// What it is, in one line.
    pub title: String,
    /// What it says; its beginning in lists.
    pub summary: String,
    /// Where it can be read.
    pub url: Option<String>,
    /// What it is worth, from 0 to 1; null until somebody scored it.
    pub score: Option<Score>,
    /// What the score comes to; null as long as there is none.
    pub tier: Option<DiscoveryTier>,
    /// Where it stands.
    pub state: DiscoveryState,
    /// The work item or run it became.
    #[serde(rename = "ref")]
    pub reference: Option<String>,
    /// Why it was dismissed.
    pub reason: String,
    /// The models that it has a vector of.
    pub models: Vec<ModelId>,
    /// How many opinions on it there are.
    pub opinions: i64,
    /// How many of them say that it was useful.
    pub useful: i64,
    /// Who submitted it.
    pub submitted_by: String,
    /// Who submitted it, by number; null for the operator.
    pub agent_id: Option<AgentId>,
    /// When it was submitted.
    pub discovered_at: Timestamp,
    /// When it was promoted or dismissed.
    pub settled_at: Option<Timestamp>,
    /// How many events it has.
    pub revision: i64,
}

/// The columns of a discovery, for [`discovery`], and where they are found.
macro_rules! discovery_from {
    ($summary:literal, $($rest:tt)+) => {
        concat!(
            "select d.id, p.slug, d.project_id, d.source, d.source_id, d.title, ",
            $summary,
            ", d.url, d.score, d.tier, d.state, d.ref, d.reason,
                (select string_agg(v.model, ' ') from discovery_vector v
                    where v.discovery_id = d.id),
                (select count(*) from discovery_feedback f where f.discovery_id = d.id),
                (select count(*) from discovery_feedback f
                    where f.discovery_id = d.id and f.signal = 'useful'),
                coalesce(a.name, 'operator'), d.agent_id, d.discovered_at, d.settled_at, d.revision
             from discovery d join project p on p.id = d.project_id
             left join agent a on a.id = d.agent_id ",
            $($rest)+
        )
    };
}

impl Discovery {
    /// Returns what every event of it says.
    pub(super) const fn which(&self) -> Which {
        Which {
            id: self.id,
            project: self.project_id,
        }
    }

    /// Refuses what can be done only to one that is not settled (J9).
    pub(super) fn must_be_open(&self) -> Result<(), Error> {
        match self.state {
            DiscoveryState::New | DiscoveryState::Scored => Ok(()),
            DiscoveryState::Promoted => Err(Error::AlreadyPromoted {
                discovery: self.id,
                reference: self.reference.clone().unwrap_or_default(),
            }),
            DiscoveryState::Dismissed => Err(Error::Dismissed { discovery: self.id }),
        }
    }
}

/// Returns a discovery by number, whoever asks.
pub(super) fn by_id(
    read: &mut impl Read,
    id: DiscoveryId,
) -> Result<Option<Discovery>, StoreError> {
    let sql = discovery_from!("d.summary", "where d.id = ?1");
    read.row(sql, params![id], discovery)
}

/// Returns a discovery where the caller may see it.
pub(super) fn visible(
    read: &mut impl Read,
    actor: &Actor,
    id: DiscoveryId,
) -> Result<Discovery, Error> {
    by_id(read, id)?
        .filter(|one| actor.project().is_none_or(|own| own == one.project_id))
        .ok_or_else(|| Error::not_found("discovery", &id))
}

/// Reads a discovery back after it was changed.
pub(super) fn changed(read: &mut impl Read, id: DiscoveryId) -> Result<Discovery, Error> {
    by_id(read, id)?
        .ok_or_else(|| Error::internal(Impossible("a discovery vanished as it was changed")))
}

/// Returns the discovery that a source calls this.
pub(super) fn by_source_id(
    read: &mut impl Read,
    project: ProjectId,
    source: &str,
    source_id: &str,
) -> Result<Option<DiscoveryId>, StoreError> {
    read.row(
        "select id from discovery where project_id = ?1 and source = ?2 and source_id = ?3",
        params![project, source, source_id],
        Row::take,
    )
}

/// Which discoveries are listed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chosen<'a> {
    pub(super) project: Option<ProjectId>,
    pub(super) state: Option<DiscoveryState>,
    pub(super) tier: Option<DiscoveryTier>,
    pub(super) source: Option<&'a str>,
    pub(super) min_score: Option<Score>,
}

/// The conditions of [`Chosen`] but the project, in the order of its fields.
macro_rules! chosen {
    ($project:literal, $rest:literal) => {
        discovery_from!(
            "substr(d.summary, 1, cast(cast(?5 as bigint) as integer))",
            concat!(
                "where ",
                $project,
                "(cast(?1 as text) is null or d.state = cast(?1 as text))
                 and (cast(?2 as text) is null or d.tier = cast(?2 as text))
                 and (cast(?3 as text) is null or d.source = cast(?3 as text))
                 and (cast(?4 as double precision) is null
                    or d.score >= cast(?4 as double precision)) ",
                $rest
            )
        )
    };
}

impl<'a> Chosen<'a> {
    /// Returns what [`chosen`] wants first, then the rest, then the project if there is one.
    fn params(&self, rest: &[Param<'a>]) -> Vec<Param<'a>> {
        let preview = i64::try_from(PREVIEW_CHARS_MAX).unwrap_or(i64::MAX);
        let mut params = vec![
            Param::from(self.state.map(DiscoveryState::as_str)),
            Param::from(self.tier.map(DiscoveryTier::as_str)),
            Param::from(self.source),
            Param::from(self.min_score.map(Score::get)),
            Param::from(preview),
        ];
        params.extend_from_slice(rest);
        params.extend(self.project.map(Param::from));
        params
    }
}

/// Returns a page of discoveries, the newest first, with the beginnings of their summaries.
pub(super) fn newest(
    read: &mut impl Read,
    chosen: &Chosen<'_>,
    before: i64,
    limit: i64,
) -> Result<Vec<Discovery>, StoreError> {
    let sql = match chosen.project {
        None => chosen!(
            "",
            "and d.id < cast(?6 as bigint) order by d.id desc limit cast(?7 as bigint)"
        ),
        Some(_) => chosen!(
            "d.project_id = cast(?8 as bigint) and ",
            "and d.id < cast(?6 as bigint) order by d.id desc limit cast(?7 as bigint)"
        ),
    };
    let params = chosen.params(params![before, limit]);
    read.rows(sql, &params, discovery)
}

/// Returns a page of discoveries that have a score, the best first, behind a score and a number.
pub(super) fn best(
    read: &mut impl Read,
    chosen: &Chosen<'_>,
    (score, id): (f64, i64),
    limit: i64,
) -> Result<Vec<Discovery>, StoreError> {
    let sql = match chosen.project {
        None => chosen!(
            "",
            "and d.score <= cast(?6 as double precision)
             and (d.score < cast(?6 as double precision) or d.id > cast(?7 as bigint))
             order by d.score desc, d.id limit cast(?8 as bigint)"
        ),
        Some(_) => chosen!(
            "d.project_id = cast(?9 as bigint) and ",
            "and d.score <= cast(?6 as double precision)
             and (d.score < cast(?6 as double precision) or d.id > cast(?7 as bigint))
             order by d.score desc, d.id limit cast(?8 as bigint)"
        ),
    };
    let params = chosen.params(params![score, id, limit]);
    read.rows(sql, &params, discovery)
}

/// A discovery that may lose of its value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aged {
    pub(super) which: Which,
    pub(super) score: Score,
}

/// Returns scored discoveries that are old enough and have not decayed since a moment (J6), by
/// number; of very many those that waited longest. What has nothing to lose is not read.
pub(super) fn aged(
    read: &mut impl Read,
    project: ProjectId,
    discovered_until: LeaseTime,
    decayed_before: LeaseTime,
    limit: i64,
) -> Result<Vec<Aged>, StoreError> {
    let mut aged = read.rows(
        "select id, project_id, score from discovery
         where project_id = ?1 and state in ('new', 'scored') and score > 0
             and decayed_lease_us is null and discovered_lease_us <= ?2
         order by discovered_lease_us, id limit ?3",
        params![project, discovered_until, limit],
        one_aged,
    )?;
    let found = i64::try_from(aged.len()).unwrap_or(limit);
    aged.extend(read.rows(
        "select id, project_id, score from discovery
         where project_id = ?1 and state in ('new', 'scored') and score > 0
             and decayed_lease_us < ?2 and discovered_lease_us <= ?3
         order by decayed_lease_us, discovered_lease_us, id limit ?4",
        params![project, decayed_before, discovered_until, limit - found],
        one_aged,
    )?);
    aged.sort_by_key(|one| one.which.id);
    Ok(aged)
}

fn one_aged(row: &mut Row) -> Result<Aged, StoreError> {
    Ok(Aged {
        which: which(row)?,
        score: score(row.take()?)?,
    })
}

/// Returns the discoveries of a source that are not settled and were submitted since a time.
pub(super) fn since(
    read: &mut impl Read,
    project: ProjectId,
    source: &str,
    from: Timestamp,
    limit: i64,
) -> Result<Vec<Which>, StoreError> {
    read.rows(
        "select id, project_id from discovery
         where project_id = ?1 and source = ?2 and discovered_at >= ?3
             and state in ('new', 'scored')
         order by id limit ?4",
        params![project, source, from, limit],
        which,
    )
}

/// Returns the vector of a discovery in the space of a model.
pub(super) fn vector(
    read: &mut impl Read,
    id: DiscoveryId,
    model: &ModelId,
) -> Result<Option<Embedding>, StoreError> {
    read.row(
        "select dimension, vector from discovery_vector
         where discovery_id = ?1 and model = ?2",
        params![id, model.as_str()],
        embedding,
    )
}

/// Returns how many numbers the vectors of a model have in a project, once there is one.
pub(super) fn dimension(
    read: &mut impl Read,
    project: ProjectId,
    model: &ModelId,
) -> Result<Option<i64>, StoreError> {
    read.row(
        "select dimension from (
             select dimension from (
                 select dimension from discovery_vector
                 where project_id = ?1 and model = ?2 order by discovery_id limit 1) as of_one
             union all
             select topic_dimension from interest_profile
             where id = ?1 and topic_model = ?2) as known
         limit 1",
        params![project, model.as_str()],
        Row::take,
    )
}

/// Returns how many numbers the vectors of a model have in some project, once there is one: so many
/// as are wanted, if there is one with so many.
pub(super) fn some_dimension(
    read: &mut impl Read,
    model: &ModelId,
    wanted: i64,
) -> Result<Option<i64>, StoreError> {
    read.row(
        "select dimension from (
             select dimension from (
                 select dimension from discovery_vector
                 where model = ?1 and dimension = ?2 limit 1) as wanted
             union all
             select dimension from (
                 select dimension from discovery_vector where model = ?1
                 order by discovery_id limit 1) as first) as known
         order by case when dimension = ?2 then 0 else 1 end limit 1",
        params![model.as_str(), wanted],
        Row::take,
    )
}

/// Counts the discoveries of a project and a source.
pub(super) fn count(
    read: &mut impl Read,
    project: Option<ProjectId>,
    source: Option<&str>,
) -> Result<i64, StoreError> {
    match (project, source) {
        (None, None) => read.one("select count(*) from discovery", &[], Row::take),
        (Some(project), None) => read.one(
            "select count(*) from discovery where project_id = ?1",
            params![project],
            Row::take,
        ),
        (Some(project), Some(source)) => read.one(
            "select count(*) from discovery where project_id = ?1 and source = ?2",
            params![project, source],
            Row::take,
        ),
        (None, Some(source)) => read.one(
            "select count(*) from discovery where source = ?1",
            params![source],
            Row::take,
        ),
    }
}

/// Returns the discoveries whose words were redacted: they never have a vector again.
pub(super) fn redacted(
    read: &mut impl Read,
    project: Option<ProjectId>,
    source: Option<&str>,
) -> Result<Vec<DiscoveryId>, StoreError> {
    read.rows(
        "select d.id from redaction r join discovery d on d.id = r.subject_id
         where r.subject_type = 'discovery' and r.kind = 'discovery_submitted'
             and (cast(?1 as bigint) is null or d.project_id = cast(?1 as bigint))
             and (cast(?2 as text) is null or d.source = cast(?2 as text))",
        params![project.map(ProjectId::get), source],
        Row::take,
    )
}

/// Returns the number for the next discovery.
pub(super) fn next_id(read: &mut impl Read) -> Result<DiscoveryId, StoreError> {
    read.one(next_id!("discovery"), &[], Row::take)
}

fn which(row: &mut Row) -> Result<Which, StoreError> {
    Ok(Which {
        id: row.take()?,
        project: row.take()?,
    })
}

/// Reads a dimension and a vector.
pub(super) fn embedding(row: &mut Row) -> Result<Embedding, StoreError> {
    let dimension = usize::try_from(row.take::<i64>()?).map_err(|_| StoreError::Shape("a size"))?;
    let bytes: Vec<u8> = row.take()?;
    Embedding::from_le_bytes(&bytes, dimension).map_err(|_| StoreError::Shape("a vector"))
}

fn score(number: f64) -> Result<Score, StoreError> {
    Score::parse(number).map_err(|_| StoreError::Shape("a score"))
}

fn discovery(row: &mut Row) -> Result<Discovery, StoreError> {
    Ok(Discovery {
        id: row.take()?,
        project: Slug::from_stored(row.take()?),
        project_id: row.take()?,
        source: row.take()?,
        source_id: row.take()?,
        title: row.take()?,
        summary: row.take()?,
        url: row.take()?,
        score: row.take::<Option<f64>>()?.map(score).transpose()?,
        tier: row
            .take::<Option<String>>()?
            .as_deref()
            .map(tier)
            .transpose()?,
        state: row.word(DiscoveryState::from_word)?,
        reference: row.take()?,
        reason: row.take()?,
        models: models(row.take()?)?,
        opinions: row.take()?,
        useful: row.take()?,
        submitted_by: row.take()?,
        agent_id: row.take()?,
        discovered_at: row.take()?,
        settled_at: row.take()?,
        revision: row.take()?,
    })
}

fn tier(word: &str) -> Result<DiscoveryTier, StoreError> {
    DiscoveryTier::from_word(word).ok_or(StoreError::Shape("a known word"))
}

/// Reads the names of models that were put together with spaces, which none of them holds.
fn models(together: Option<String>) -> Result<Vec<ModelId>, StoreError> {
    let together = together.unwrap_or_default();
    let names = together.split_ascii_whitespace().map(ModelId::parse);
    let mut models = names
        .collect::<Result<Vec<_>, _>>()
        .map_err(|_| StoreError::Shape("the name of a model"))?;
    models.sort_unstable();
    Ok(models)
}
