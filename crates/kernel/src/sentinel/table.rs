//! Sentinels: reading rows.

use comity_domain::{AgentId, LeaseTime, ProjectId, SentinelId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::epoch::next_id;
use crate::params;
use crate::store::{Row, StoreError};
use crate::tx::Read;

/// A sentinel as callers see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sentinel {
    /// Its number.
    pub id: SentinelId,
    /// Its name.
    pub name: String,
    /// What of it; empty unless it was claimed with one.
    pub scope: String,
    /// Who claimed it last.
    pub claimed_by: String,
    /// Who claimed it last, by number; null for the operator.
    pub agent_id: Option<AgentId>,
    /// When it was claimed; null after a reset.
    pub claimed_at: Option<Timestamp>,
    /// How many events it has.
    pub revision: i64,
}

/// Returns a sentinel, and when it was claimed on the lease clock.
pub(super) fn by_name(
    read: &mut impl Read,
    project: ProjectId,
    name: &str,
    scope: &str,
) -> Result<Option<(Sentinel, Option<LeaseTime>)>, StoreError> {
    read.row(
        "select s.id, s.name, s.scope, coalesce(a.name, 'operator'), s.agent_id, s.claimed_at,
            s.revision, s.claimed_lease_us
         from sentinel s left join agent a on a.id = s.agent_id
         where s.project_id = ?1 and s.name = ?2 and s.scope = ?3",
        params![project, name, scope],
        |row| {
            let sentinel = Sentinel {
                id: row.take()?,
                name: row.take()?,
                scope: row.take()?,
                claimed_by: row.take()?,
                agent_id: row.take()?,
                claimed_at: row.take()?,
                revision: row.take()?,
            };
            Ok((sentinel, row.take()?))
        },
    )
}

/// Returns the number for the next sentinel.
pub(super) fn next_id(read: &mut impl Read) -> Result<SentinelId, StoreError> {
    read.one(next_id!("sentinel"), &[], Row::take)
}
