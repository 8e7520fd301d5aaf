//! Artifacts: what a run left behind in a phase, for people and for gates.

use comity_domain::limits::{ARTIFACTS_MAX, LABEL_BYTES_MAX, URL_BYTES_MAX};
use comity_domain::{AgentId, ArtifactId, Line, LiteralPath, Phase, RunId, Sha256Hex, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::ArtifactAdded;
use super::table::{self, stored_phase};
use crate::actor::{Actor, Party};
use crate::command::{Command, Stop};
use crate::epoch::next_id;
use crate::error::{Error, Impossible};
use crate::gate::evaluate::must_be_open;
use crate::page::{After, Limit, Page};
use crate::params;
use crate::query::Query;
use crate::reservation::held::holder;
use crate::store::{Row, StoreError};
use crate::tx::{Read, Snapshot, WriteTx};

/// Adds what a phase left behind: a file of the project, a URL, or the hash of some bytes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddArtifact {
    /// The run's number.
    pub run: RunId,
    /// The phase it belongs to: the one the run is in, or a skipped one right ahead.
    pub phase: Phase,
    /// What kind of thing it is, such as `plan` or `report`.
    pub kind: Line<LABEL_BYTES_MAX>,
    /// Where it lies in the project.
    #[serde(default)]
    pub path: Option<LiteralPath>,
    /// Where it lies elsewhere.
    #[serde(default)]
    pub url: Option<Line<URL_BYTES_MAX>>,
    /// The SHA-256 of its bytes.
    #[serde(default)]
    pub sha256: Option<Sha256Hex>,
}

/// An artifact as callers see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Artifact {
    /// Its number.
    pub id: ArtifactId,
    /// The run.
    pub run: RunId,
    /// The phase.
    pub phase: Phase,
    /// What kind of thing it is.
    pub kind: String,
    /// Where it lies in the project.
    pub path: Option<String>,
    /// Where it lies elsewhere.
    pub url: Option<String>,
    /// The SHA-256 of its bytes.
    pub sha256: Option<Sha256Hex>,
    /// Who added it, by number; null for the operator.
    pub agent_id: Option<AgentId>,
    /// When it was added.
    pub created_at: Timestamp,
    /// When it was withdrawn; from then on it counts no more.
    pub withdrawn_at: Option<Timestamp>,
}

/// The artifact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArtifactAnswer {
    /// The artifact.
    pub artifact: Artifact,
}

impl Command for AddArtifact {
    const NAME: &'static str = "add_artifact";
    const WHO: &'static [Party] = &[Party::Agent, Party::Operator];
    type Answer = ArtifactAnswer;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<ArtifactAnswer, Stop> {
        let actor = tx.actor().clone();
        let run = table::visible(tx, &actor, self.run)?;
        if self.path.is_none() && self.url.is_none() && self.sha256.is_none() {
            let rule = "is missing; give `path`, `url` or `sha256`";
            return Err(Error::invalid("path", rule).into());
        }
        run.must_be_active()?;
        must_be_open(tx, &run, &self.phase)?;
        let count = "select count(*) from artifact where run_id = ?1";
        if tx.one(count, params![run.id], Row::take::<i64>)? >= ARTIFACTS_MAX {
            return Err(Error::LimitExceeded {
                what: "the number of artifacts of one run",
                limit: ARTIFACTS_MAX.unsigned_abs(),
            }
            .into());
        }
        let next = next_id!("artifact");
        let id = tx.one(next, &[], Row::take)?;
        tx.emit(ArtifactAdded {
            id,
            run: run.id,
            project: run.project_id,
            phase: self.phase.clone(),
            kind: self.kind.to_string(),
            path: self.path.as_ref().map(ToString::to_string),
            url: self.url.as_ref().map(ToString::to_string),
            sha256: self.sha256,
            agent: holder(&actor),
        })?;
        let artifact = by_id(tx, id)?
            .ok_or_else(|| Error::internal(Impossible("an artifact vanished as it was added")))?;
        Ok(ArtifactAnswer { artifact })
    }
}

/// Lists the artifacts of a run, oldest first, the withdrawn ones included.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListArtifacts {
    /// The run's number.
    pub run: RunId,
    /// How many at most.
    #[serde(default)]
    pub limit: Limit,
    /// The `next` of the page before.
    #[serde(default)]
    pub after: After,
}

impl Query for ListArtifacts {
    const NAME: &'static str = "list_artifacts";
    const WHO: &'static [Party] = &[Party::Operator, Party::Agent, Party::Observer];
    type Answer = Page<Artifact>;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Page<Artifact>, Error> {
        let run = table::visible(snapshot, actor, self.run)?;
        let items = page(snapshot, run.id, self.after.get(), self.limit.and_one())?;
        Ok(Page::cut(items, self.limit, |one: &Artifact| one.id.get()))
    }
}

/// Returns an artifact by number, whoever asks.
pub(super) fn by_id(read: &mut impl Read, id: ArtifactId) -> Result<Option<Artifact>, StoreError> {
    read.row(
        "select id, run_id, phase, kind, path, url, sha256, agent_id, created_at, withdrawn_at
         from artifact where id = ?1",
        params![id],
        artifact,
    )
}

fn page(
    read: &mut impl Read,
    run: RunId,
    after: i64,
    limit: i64,
) -> Result<Vec<Artifact>, StoreError> {
    read.rows(
        "select id, run_id, phase, kind, path, url, sha256, agent_id, created_at, withdrawn_at
         from artifact where run_id = ?1 and id > ?2 order by id limit cast(?3 as bigint)",
        params![run, after, limit],
        artifact,
    )
}

fn artifact(row: &mut Row) -> Result<Artifact, StoreError> {
    Ok(Artifact {
        id: row.take()?,
        run: row.take()?,
        phase: stored_phase(row.take()?)?,
        kind: row.take()?,
        path: row.take()?,
        url: row.take()?,
        sha256: row.take::<Option<[u8; 32]>>()?.map(Sha256Hex::new),
        agent_id: row.take()?,
        created_at: row.take()?,
        withdrawn_at: row.take()?,
    })
}
