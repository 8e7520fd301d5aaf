//! Opinions on a discovery.

use comity_domain::limits::{FEEDBACK_MAX, FEEDBACK_SHOWN_MAX};
use comity_domain::{AgentId, DiscoveryId, Signal, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::FeedbackGiven;
use super::table;
use super::{ChangedDiscovery, changed};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::error::Error;
use crate::params;
use crate::reservation::held::holder;
use crate::run::Words;
use crate::store::{Row, StoreError};
use crate::tx::{Read, WriteTx};

/// Says what a discovery was good for, settled or not; its score does not change by it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GiveFeedback {
    /// The discovery's number.
    pub id: DiscoveryId,
    /// In a word.
    pub signal: Signal,
    /// In more words.
    #[serde(default)]
    pub note: Option<Words>,
}

/// What somebody said of a discovery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Opinion {
    /// In a word.
    pub signal: Signal,
    /// In more words.
    pub note: String,
    /// Who said it.
    pub by: String,
    /// Who said it, by number; null for the operator.
    pub agent_id: Option<AgentId>,
    /// When.
    pub at: Timestamp,
}

impl Command for GiveFeedback {
    const NAME: &'static str = "feedback";
    const WHO: &'static [Party] = &[Party::Agent, Party::Operator];
    type Answer = ChangedDiscovery;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<ChangedDiscovery, Stop> {
        let actor = tx.actor().clone();
        let before = table::visible(tx, &actor, self.id)?;
        if before.opinions >= FEEDBACK_MAX {
            return Err(Error::LimitExceeded {
                what: "the number of opinions on one discovery",
                limit: FEEDBACK_MAX.unsigned_abs(),
            }
            .into());
        }
        tx.emit(FeedbackGiven {
            which: before.which(),
            signal: self.signal,
            note: self.note.as_deref().unwrap_or_default().to_owned(),
            agent: holder(&actor),
        })?;
        Ok(changed(tx, self.id)?)
    }
}

/// Returns the newest opinions on a discovery, the last one first.
pub(super) fn newest(read: &mut impl Read, id: DiscoveryId) -> Result<Vec<Opinion>, StoreError> {
    read.rows(
        "select f.signal, f.note, coalesce(a.name, 'operator'), f.agent_id, f.created_at
         from discovery_feedback f left join agent a on a.id = f.agent_id
         where f.discovery_id = ?1 order by f.seq desc limit ?2",
        params![id, FEEDBACK_SHOWN_MAX],
        |row: &mut Row| {
            Ok(Opinion {
                signal: row.word(Signal::from_word)?,
                note: row.take()?,
                by: row.take()?,
                agent_id: row.take()?,
                at: row.take()?,
            })
        },
    )
}
