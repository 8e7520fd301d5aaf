//! Lets one run wait for another no more.

use comity_domain::RunId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::link::{Link, LinkAnswer};
use super::table::is_linked;
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::error::Error;
use crate::run::event::{RunsLinked, RunsUnlinked};
use crate::run::table as run_table;
use crate::tx::WriteTx;

/// Lets one run wait for another no more.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnlinkRuns {
    /// The run that was waited for.
    pub upstream: RunId,
    /// The run that waited.
    pub downstream: RunId,
}

impl Command for UnlinkRuns {
    const NAME: &'static str = "unlink_runs";
    const WHO: &'static [Party] = &[Party::Orchestrator, Party::Operator];
    type Answer = LinkAnswer;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<LinkAnswer, Stop> {
        let actor = tx.actor().clone();
        let downstream = run_table::visible(tx, &actor, self.downstream)?;
        if !is_linked(tx, self.upstream, downstream.id)? {
            let name = format!("from run {} to run {}", self.upstream, downstream.id);
            return Err(Error::not_found("link", &name).into());
        }
        tx.emit(RunsUnlinked(RunsLinked {
            upstream: self.upstream,
            downstream: downstream.id,
            project: downstream.project_id,
        }))?;
        Ok(LinkAnswer {
            link: Link {
                upstream: self.upstream,
                downstream: downstream.id,
            },
        })
    }
}
