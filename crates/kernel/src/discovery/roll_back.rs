//! Takes back what a source brought.

use comity_domain::limits::DISCOVERIES_PER_CALL_MAX;
use comity_domain::{DiscoveryId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Source;
use super::event::DiscoveryDismissed;
use super::table;
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::project::table::{self as project_table, ProjectRef};
use crate::reservation::held::holder;
use crate::tx::WriteTx;

/// Dismisses what a source brought since a time, as far as it is not settled; of very many, `more`
/// says to call again.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RollBackSource {
    /// The project's key or slug; an agent's own unless given.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// The source.
    pub source: Source,
    /// What was submitted then or later is dismissed.
    pub since_time: Timestamp,
}

/// What was dismissed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RolledBackSource {
    /// Exactly the discoveries that were dismissed now.
    pub dismissed: Vec<DiscoveryId>,
    /// Whether there are more: call again.
    pub more: bool,
}

impl Command for RollBackSource {
    const NAME: &'static str = "roll_back_source";
    const WHO: &'static [Party] = &[Party::Orchestrator, Party::Operator];
    type Answer = RolledBackSource;

    /// Each event's own update wants the row to be open still, so none is told of that another
    /// dismissed (J8).
    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<RolledBackSource, Stop> {
        let actor = tx.actor().clone();
        let project = project_table::resolve(tx, &actor, self.project.as_ref())?.id;
        let wanted = DISCOVERIES_PER_CALL_MAX + 1;
        let mut open = table::since(tx, project, &self.source, self.since_time, wanted)?;
        let limit = usize::try_from(DISCOVERIES_PER_CALL_MAX).unwrap_or(usize::MAX);
        let more = open.len() > limit;
        open.truncate(limit);
        for which in &open {
            tx.emit(DiscoveryDismissed {
                which: *which,
                reason: format!("source `{}` was rolled back", self.source),
                rolled_back: true,
                agent: holder(&actor),
            })?;
        }
        Ok(RolledBackSource {
            dismissed: open.into_iter().map(|which| which.id).collect(),
            more,
        })
    }
}
