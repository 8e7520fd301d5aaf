//! Shows one discovery.

use comity_domain::DiscoveryId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::feedback::{self, Opinion};
use super::table::{self, Discovery};
use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::query::Query;
use crate::tx::Snapshot;

/// Shows one discovery, with its whole summary and the newest opinions on it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetDiscovery {
    /// The discovery's number.
    pub id: DiscoveryId,
}

/// The discovery.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiscoveryFound {
    /// The discovery.
    pub discovery: Discovery,
    /// The newest opinions on it, the last one first.
    pub feedback: Vec<Opinion>,
}

impl Query for GetDiscovery {
    const NAME: &'static str = "get_discovery";
    const WHO: &'static [Party] = &[Party::Operator, Party::Agent, Party::Observer];
    type Answer = DiscoveryFound;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<DiscoveryFound, Error> {
        let discovery = table::visible(snapshot, actor, self.id)?;
        let feedback = feedback::newest(snapshot, discovery.id)?;
        Ok(DiscoveryFound {
            discovery,
            feedback,
        })
    }
}
