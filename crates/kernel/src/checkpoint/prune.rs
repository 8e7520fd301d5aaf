//! Prunes the log: what the archive has, and nobody needs, goes.

use comity_domain::token::to_hex;
use comity_domain::{Seq, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::LogPruned;
use super::plan::{Keep, Obstacle, in_the_way};
use super::table::{self, Checkpoint};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::error::Error;
use crate::log;
use crate::tx::WriteTx;

/// Leaves the oldest part of the log to the archive alone. It must have all of it, and every durable
/// consumer and every hook must be past it. What happened is in the tables as before.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prune {
    /// The first event to keep.
    #[serde(default)]
    pub before: Option<Seq>,
    /// Instead of an event: keep what happened this long ago or later.
    #[serde(default)]
    pub older_than: Option<Span>,
    /// Only tell what would go, and who is in the way.
    #[serde(default)]
    pub dry_run: bool,
}

/// The log was pruned, or would be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pruned {
    /// The last event that is in the archive alone.
    pub pruned_to: Seq,
    /// How many events went, or would go.
    pub events: i64,
    /// The hash over everything that the events up to there project; none of a dry run.
    pub state_hash: Option<String>,
    /// Who still needs what would go; a dry run alone tells it here.
    pub in_the_way: Vec<Obstacle>,
    /// Whether it was only asked.
    pub dry_run: bool,
}

impl Prune {
    /// Returns what is to be kept.
    pub(crate) fn keep(&self) -> Result<Keep, Error> {
        match (self.before, self.older_than) {
            (Some(before), None) if before >= Seq::new(1) => Ok(Keep::From(before)),
            (Some(_), None) => Err(Error::invalid("before", "must be at least 1")),
            (None, Some(age)) => Ok(Keep::Younger(age)),
            (Some(_), Some(_)) => Err(Error::invalid(
                "older_than",
                "must not be there beside `before`",
            )),
            (None, None) => Err(Error::invalid(
                "before",
                "is missing; it, or `older_than`, says what to keep",
            )),
        }
    }
}

/// Writes a checkpoint that was proven from the archive; the events behind it go afterwards.
#[derive(Clone, Debug, Serialize)]
pub struct PruneLog {
    /// The archive that has them.
    pub archive: String,
    /// The last event to go.
    pub through: Seq,
    /// The chain's hash there, by the archive.
    pub hash: [u8; 32],
    /// What the archive folds to there.
    pub state_hash: String,
    /// The schema whose tables were hashed.
    pub schema: i64,
}

/// A checkpoint is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointMade {
    /// The last event that it covers.
    pub through: Seq,
}

impl Command for PruneLog {
    const NAME: &'static str = "prune";
    const WHO: &'static [Party] = &[Party::Operator];
    type Answer = CheckpointMade;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<CheckpointMade, Stop> {
        let through = self.through;
        let made = CheckpointMade { through };
        // Somebody else may have been faster.
        if through <= table::pruned_to(tx)? {
            return Ok(made);
        }
        let obstacles = in_the_way(tx, &self.archive, through)?;
        if !obstacles.is_empty() {
            return Err(Error::StillNeeded { by: obstacles }.into());
        }
        let link = log::table::at(tx, through)?.map(|recorded| recorded.hash);
        if link != Some(self.hash) {
            return Err(Error::Unusable {
                what: format!("the archive's log is not the database's at event {through}"),
            }
            .into());
        }
        let found = Checkpoint {
            through,
            hash: self.hash,
            state_hash: self.state_hash.clone(),
            schema: self.schema,
        };
        // A log that was brought back from the archive has its checkpoints already.
        match table::at(tx, through)? {
            Some(known) => known.must_be(&found)?,
            None => {
                tx.emit(LogPruned {
                    through,
                    hash: to_hex(&self.hash),
                    state_hash: self.state_hash.clone(),
                    schema: self.schema,
                })?;
            }
        }
        tx.pruned_to(through)?;
        Ok(made)
    }
}
