//! What happens to consumers.

use comity_domain::{AgentId, ConsumerId, LeaseTime, ProjectId, Seq};
use serde::{Deserialize, Serialize};

use crate::event::Filter;

/// Somebody registered a consumer, for the first time or to take it over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsumerRegistered {
    /// Its number.
    pub id: ConsumerId,
    /// The project; none is the whole workspace.
    pub project: Option<ProjectId>,
    /// Its name.
    pub name: String,
    /// Which events it wants.
    pub filter: Filter,
    /// After how long a silence it is gone; none is durable.
    pub ttl_us: Option<i64>,
    /// Its generation: 1, then one more each time.
    pub generation: i64,
    /// Who registered it; nobody is the operator.
    pub agent: Option<AgentId>,
    /// Behind which event it starts; none goes on from where it is.
    pub since: Option<Seq>,
    /// When, on the lease clock.
    pub registered: LeaseTime,
}

/// Somebody moved a consumer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsumerReset {
    /// Its number.
    pub id: ConsumerId,
    /// The project; none is the whole workspace.
    pub project: Option<ProjectId>,
    /// Its name.
    pub name: String,
    /// Its new generation: what an instance acknowledges that does not know of this counts no more.
    pub generation: i64,
    /// Behind which event it goes on.
    pub since: Seq,
}

/// A consumer that is not durable was silent for too long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsumerExpired {
    /// Its number.
    pub id: ConsumerId,
    /// The project; none is the whole workspace.
    pub project: Option<ProjectId>,
    /// Its name.
    pub name: String,
}
