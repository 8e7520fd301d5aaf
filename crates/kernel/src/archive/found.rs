//! A discovery as its file shows it: what was found, what it is worth, and what became of it.

use comity_domain::{AgentId, DiscoveryId, ProjectId, Timestamp};

use crate::params;
use crate::store::StoreError;
use crate::tx::Read;

/// What of a discovery never changes, and its score once it is settled.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Its number.
    pub id: DiscoveryId,
    /// The project.
    pub project: ProjectId,
    /// Where it comes from.
    pub source: String,
    /// What the source calls it.
    pub source_id: String,
    /// What it is, in one line.
    pub title: String,
    /// What it says.
    pub summary: String,
    /// Where it can be read.
    pub url: Option<String>,
    /// Who submitted it; nobody is the operator.
    pub by: Option<AgentId>,
    /// When it was submitted.
    pub discovered_at: Timestamp,
    /// What it was worth at last; nobody knows before it is settled.
    pub last_score: Option<f64>,
}

impl Found {
    /// Reads one, without what may still change.
    pub(super) fn read(read: &mut impl Read, id: DiscoveryId) -> Result<Option<Self>, StoreError> {
        read.row(
            "select project_id, source, source_id, title, summary, url, agent_id, discovered_at,
                case when settled_at is null then null else score end
             from discovery where id = ?1",
            params![id],
            |row| {
                Ok(Self {
                    id,
                    project: row.take()?,
                    source: row.take()?,
                    source_id: row.take()?,
                    title: row.take()?,
                    summary: row.take()?,
                    url: row.take()?,
                    by: row.take()?,
                    discovered_at: row.take()?,
                    last_score: row.take()?,
                })
            },
        )
    }
}
