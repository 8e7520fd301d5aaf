//! What somebody has in hand, in few words.

use comity_domain::{AgentId, DispatchId, LeaseTime, RunId, Seq};
use schemars::JsonSchema;
use serde::Serialize;

use crate::params;
use crate::store::StoreError;
use crate::tx::Read;

/// A dispatch that the caller claimed, in few words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WorkInHand {
    /// Its number.
    pub id: DispatchId,
    /// The run it is for.
    pub run: Option<RunId>,
    /// The kind of agent that is to do it.
    pub agent_kind: String,
    /// The claim's fence, which calls about it carry.
    pub fence: Seq,
    /// How long the claim still lasts.
    pub claim_remaining_ms: i64,
}

/// Returns what an agent has in hand, those whose claims end first coming first.
pub(crate) fn of_agent(
    read: &mut impl Read,
    agent: AgentId,
    limit: i64,
) -> Result<Vec<WorkInHand>, StoreError> {
    let now = read.now().lease;
    read.rows(
        "select id, run_id, agent_kind, fence, claim_lease_us from dispatch
         where claimant_id = ?1 and state in ('spawned', 'running') and claim_lease_us > ?2
         order by claim_lease_us, id limit cast(?3 as bigint)",
        params![agent, now, limit],
        |row| {
            Ok(WorkInHand {
                id: row.take()?,
                run: row.take()?,
                agent_kind: row.take()?,
                fence: row.take()?,
                claim_remaining_ms: (row.take::<LeaseTime>()?.micros() - now.micros()) / 1_000,
            })
        },
    )
}
