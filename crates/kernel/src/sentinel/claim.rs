//! Claims a sentinel.

use comity_domain::Span;
use comity_domain::limits::SENTINEL_US_MAX;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::SentinelClaimed;
use super::table::{self, Sentinel};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::error::{Error, Impossible};
use crate::lock::Name;
use crate::project::table::{self as project_table, ProjectRef};
use crate::reservation::held;
use crate::tx::{Read, WriteTx};

/// Claims something to be done once per interval: the first to ask in an interval gets it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimSentinel {
    /// The project's key or slug; an agent's own unless given.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// The sentinel's name.
    pub name: Name,
    /// What of it; the same name may be claimed once per scope.
    #[serde(default)]
    pub scope: Option<Name>,
    /// The interval.
    pub every: Span,
}

/// Whether it is yours to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SentinelAnswer {
    /// Whether you claimed it.
    pub claimed: bool,
    /// When it may be claimed next, if somebody else has claimed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<i64>,
    /// The sentinel.
    pub sentinel: Sentinel,
}

impl Command for ClaimSentinel {
    const NAME: &'static str = "claim_sentinel";
    const WHO: &'static [Party] = &[Party::Agent, Party::Operator];
    type Answer = SentinelAnswer;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<SentinelAnswer, Stop> {
        let actor = tx.actor().clone();
        let project = project_table::resolve(tx, &actor, self.project.as_ref())?;
        let every_us = self.every.micros();
        if !(1_000..=SENTINEL_US_MAX).contains(&every_us) {
            return Err(Error::invalid("every", "must be between 1ms and 365d").into());
        }
        let scope = self.scope.as_deref().unwrap_or_default();
        let now = tx.now().lease;
        let found = table::by_name(tx, project.id, &self.name, scope)?;
        if let Some((sentinel, Some(claimed))) = &found {
            let left_us = claimed.micros().saturating_add(every_us) - now.micros();
            if left_us > 0 {
                return Ok(SentinelAnswer {
                    claimed: false,
                    // Rounded up: who comes back then is not told to come back again.
                    retry_after_ms: Some((left_us + 999) / 1_000),
                    sentinel: sentinel.clone(),
                });
            }
        }
        let id = match found {
            Some((sentinel, _)) => sentinel.id,
            None => table::next_id(tx)?,
        };
        tx.emit(SentinelClaimed {
            id,
            project: project.id,
            name: self.name.to_string(),
            scope: scope.to_owned(),
            agent: held::holder(&actor),
            claimed: now,
        })?;
        let (sentinel, _) = table::by_name(tx, project.id, &self.name, scope)?
            .ok_or_else(|| Error::internal(Impossible("a sentinel vanished as it was claimed")))?;
        Ok(SentinelAnswer {
            claimed: true,
            retry_after_ms: None,
            sentinel,
        })
    }
}
