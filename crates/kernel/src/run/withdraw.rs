//! Withdraws an artifact.

use comity_domain::{ArtifactId, RunId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::artifact::{ArtifactAnswer, by_id};
use super::event::ArtifactWithdrawn;
use super::{Words, table};
use crate::actor::{Actor, Party};
use crate::command::{Command, Stop};
use crate::error::{Error, Impossible};
use crate::tx::WriteTx;

/// Withdraws an artifact: it stays in the history and counts no more. An agent withdraws its own;
/// with the right `orchestrate`, any of its project.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WithdrawArtifact {
    /// The run's number.
    pub run: RunId,
    /// The artifact's number.
    pub artifact: ArtifactId,
    /// Why.
    #[serde(default)]
    pub reason: Option<Words>,
}

impl Command for WithdrawArtifact {
    const NAME: &'static str = "withdraw_artifact";
    const WHO: &'static [Party] = &[Party::Agent, Party::Operator];
    type Answer = ArtifactAnswer;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<ArtifactAnswer, Stop> {
        let actor = tx.actor().clone();
        let run = table::visible(tx, &actor, self.run)?;
        let artifact = by_id(tx, self.artifact)?.filter(|one| one.run == run.id);
        let artifact = artifact.ok_or_else(|| Error::not_found("artifact", &self.artifact))?;
        if let Actor::Agent {
            agent,
            orchestrate: false,
            ..
        } = actor
            && artifact.agent_id != Some(agent)
        {
            return Err(Error::Forbidden {
                reason: format!("artifact {} is not the caller's", artifact.id),
            }
            .into());
        }
        if artifact.withdrawn_at.is_some() {
            return Ok(ArtifactAnswer { artifact });
        }
        run.must_be_live()?;
        tx.emit(ArtifactWithdrawn {
            id: artifact.id,
            run: run.id,
            project: run.project_id,
            reason: self.reason.as_ref().map(ToString::to_string),
        })?;
        let artifact = by_id(tx, artifact.id)?
            .ok_or_else(|| Error::internal(Impossible("an artifact vanished")))?;
        Ok(ArtifactAnswer { artifact })
    }
}
